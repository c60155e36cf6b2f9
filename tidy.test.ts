import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

const engineFolders = (...names: string[]) => names.map((name) => `packages/engine/${name}`);
const pipelineBase = ['format', 'crypto', 'memory', 'ports', 'time'];
/** Writing, restoring and showing backups all read views; none of them needs another. */
const pipelineReading = ['pipeline/view', 'pipeline/segments', ...pipelineBase];

/**
 * The house's rules as an ordinary test. A layer is a folder; the table says what its files may import.
 * The longest matching folder decides. Tests and test helpers may import what they like.
 */
const layers: Record<string, readonly string[]> = {
  'packages/contract': ['packages/contract'],
  'packages/engine/ports': ['packages/engine/ports'],
  'packages/engine/google': ['packages/engine/google'],
  'packages/engine/memory': ['packages/engine/memory'],
  'packages/engine/text': ['packages/engine/text'],
  'packages/engine/time': ['packages/engine/time'],
  'packages/engine/crypto': engineFolders('crypto', 'memory', 'ports'),
  'packages/engine/format': engineFolders('format', 'crypto', 'memory', 'ports', 'time'),
  'packages/engine/stores': engineFolders('stores', 'google', 'ports', 'time'),
  'packages/engine/pipeline/segments': engineFolders('pipeline/segments', ...pipelineBase),
  'packages/engine/pipeline/view': engineFolders('pipeline/view', 'pipeline/segments', ...pipelineBase),
  'packages/engine/pipeline/backup': engineFolders('pipeline/backup', ...pipelineReading),
  'packages/engine/pipeline/contents': engineFolders('pipeline/contents', ...pipelineReading),
  'packages/engine/pipeline/restore': engineFolders('pipeline/restore', ...pipelineReading),
  'packages/engine/pipeline/log': engineFolders('pipeline/log', ...pipelineReading),
  'packages/engine/sources': engineFolders('sources', 'format', 'google', 'ports', 'time'),
  'packages/engine': ['packages/engine'],
  'packages/sandbox': ['packages/sandbox'],
  'packages/web': ['packages/web', 'packages/contract'],
  'packages/cli': ['packages/cli', 'packages/contract', 'packages/engine'],
  'packages/server/platform': ['packages/server/platform', 'packages/contract', 'packages/server/config.ts'],
  'packages/server/http': ['packages/server/http', 'packages/server/platform', 'packages/contract'],
  'packages/server/modules': [
    'packages/server/modules',
    'packages/server/http',
    'packages/server/platform',
    'packages/server/version.ts',
    'packages/server/config.ts',
    'packages/contract',
    'packages/engine',
    'packages/sandbox',
  ],
  // The dashboard is built and served, never called.
  'packages/server/service.ts': ['packages/server', 'packages/contract', 'packages/engine', 'packages/web'],
  'packages/server': ['packages/server', 'packages/contract', 'packages/engine', 'packages/sandbox'],
  bench: ['bench', 'packages'],
  scripts: ['scripts', 'packages', 'bench'],
};

/** A module may use those before it, and only through their index. Tables may refer to the tables of those before it. */
const moduleOrder = [
  'jobs',
  'system',
  'audit',
  'auth',
  'organizations',
  'notifications',
  'projects',
  'storage',
  'backups',
  'restores',
  'schedules',
  'pitr',
  'webhooks',
  'overview',
];

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
})
  .split('\n')
  .filter((path) => path !== '' && exists(path));
const sources = files.filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.d.ts'));
const production = sources.filter(
  (path) => !/\.(test|conformance)\.ts$|\/testing(\/|\.ts$)|\/fixtures\/|^vitest\.|drizzle\.config/.test(path),
);

function exists(path: string): boolean {
  try {
    readFileSync(path);
    return true;
  } catch {
    return false;
  }
}

function importsOf(path: string): string[] {
  const text = readFileSync(path, 'utf8');
  const specifiers = [
    ...text.matchAll(
      /^\s*(?:import|export)\s[^'"`;]*?from\s+['"]([^'"]+)['"]|^\s*import\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm,
    ),
  ];
  return specifiers.map((match) => match[1] ?? match[2] ?? match[3] ?? '');
}

/** Where an import leads inside the repository; undefined for a dependency. */
function targetOf(path: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return normalize(join(dirname(path), specifier));
  const own = /^@holdfast\/([a-z]+)/.exec(specifier);
  return own ? `packages/${own[1]}` : undefined;
}

function layerOf(path: string): string | undefined {
  return Object.keys(layers)
    .filter((layer) => path === layer || path.startsWith(`${layer}/`))
    .sort((a, b) => b.length - a.length)[0];
}

test('imports follow the layer table', () => {
  const offences = production.flatMap((path) => {
    const allowed = layers[layerOf(path) ?? ''];
    if (!allowed) return [];
    return importsOf(path).flatMap((specifier) => {
      const target = targetOf(path, specifier);
      const fine = !target || allowed.some((layer) => target === layer || target.startsWith(`${layer}/`));
      return fine ? [] : [`${path} imports ${target}`];
    });
  });
  expect(offences).toEqual([]);
});

test('no file imports itself by a detour, types included', () => {
  const graph = new Map(
    sources.map((path) => [path, importsOf(path).map((specifier) => targetOf(path, specifier) ?? '')]),
  );
  const circles: string[] = [];
  const finished = new Set<string>();
  const visit = (path: string, way: readonly string[]) => {
    if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(' → '));
    if (way.includes(path) || finished.has(path)) return;
    for (const target of graph.get(path) ?? []) if (graph.has(target)) visit(target, [...way, path]);
    finished.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  expect(circles).toEqual([]);
});

test('SQL stands in stores, tables and migrations alone', () => {
  const offences = production
    .filter((path) => /^packages\/server\/modules\//.test(path) && !/(-store|tables|\.sql)\.ts$/.test(path))
    .filter((path) => {
      const text = readFileSync(path, 'utf8');
      return /from '(drizzle-orm|[./]+platform\/database\/orm\.ts)|\borm\b\s*[.}]|\bclient\.query[<(]|\bclient\.query$|\{ client \}\) =>/m.test(
        text,
      );
    });
  expect(offences).toEqual([]);
});

test('no file is longer than four hundred lines', () => {
  const long = sources.filter((path) => readFileSync(path, 'utf8').split('\n').length > 401);
  expect(long).toEqual([]);
});

/** Tables that the tables of a module declare. */
function tablesOf(module: string): string[] {
  const declarations = sources.filter(
    (path) => path.startsWith(`packages/server/modules/${module}/`) && path.endsWith('tables.ts'),
  );
  return declarations.flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/pgTable\(\s*'(\w+)'/g)].map((match) => match[1] as string),
  );
}

/** Who calls is found out in one round trip, before there is a tenant: two functions of the database look at all it takes. */
const foreignTables = new Set(['packages/server/modules/auth/authenticate.sql.ts']);

test('no module names the tables of another in its SQL', () => {
  const owners = new Map(moduleOrder.flatMap((module) => tablesOf(module).map((table) => [table, module] as const)));
  expect(owners.size).toBeGreaterThan(10);
  const offences = production.flatMap((path) => {
    const own = /^packages\/server\/modules\/(\w+)\//.exec(path)?.[1];
    if (!own || path.endsWith('tables.ts')) return [];
    const named = [...readFileSync(path, 'utf8').matchAll(/\b(?:from|join|update|into)\s+(\w+)\b/g)].map(
      (match) => match[1] as string,
    );
    return named
      .filter((table) => owners.has(table) && owners.get(table) !== own)
      .map((table) => ({ path, says: `${path} queries ${table}` }));
  });
  expect(offences.filter(({ path }) => !foreignTables.has(path)).map(({ says }) => says)).toEqual([]);
  expect([...foreignTables].filter((known) => !offences.some(({ path }) => path === known))).toEqual([]);
});

test('no type is overruled by a double cast', () => {
  const offences = production.filter((path) => readFileSync(path, 'utf8').includes('as unknown as'));
  expect(offences.filter((path) => path !== 'packages/server/platform/database/read-lanes.ts')).toEqual([]);
});

test('what stores write as JSON can hold every name that Firestore can', () => {
  const stores = production.filter((path) => path.startsWith('packages/server/') && path.endsWith('-store.ts'));
  expect(stores.filter((path) => readFileSync(path, 'utf8').includes('JSON.stringify('))).toEqual([]);
});

test('the contract imports zod alone', () => {
  const foreign = production
    .filter((path) => path.startsWith('packages/contract/'))
    .flatMap((path) =>
      importsOf(path)
        .filter((specifier) => !specifier.startsWith('.') && specifier !== 'zod' && !specifier.startsWith('node:'))
        .map((specifier) => `${path} imports ${specifier}`),
    );
  expect(foreign).toEqual([]);
});

test('modules meet only through their index, in their order', () => {
  const offences = production.flatMap((path) => {
    const own = /^packages\/server\/modules\/(\w+)\//.exec(path)?.[1];
    if (!own) return [];
    return importsOf(path).flatMap((specifier) => {
      const target = targetOf(path, specifier) ?? '';
      const other = /^packages\/server\/modules\/(\w+)\/(.+)$/.exec(target);
      if (!other?.[1] || other[1] === own) return [];
      const backwards = moduleOrder.indexOf(other[1]) > moduleOrder.indexOf(own);
      const sideDoor = other[2] !== 'index.ts' && !(other[2] === 'tables.ts' && path.endsWith('tables.ts'));
      return backwards || sideDoor ? [`${path} imports ${target}`] : [];
    });
  });
  expect(offences).toEqual([]);
});

test('only the clock reads the time in the service', () => {
  const offences = production
    .filter((path) => path.startsWith('packages/server/') && !path.endsWith('platform/clock.ts'))
    .filter((path) => /\bDate\.now\(\)|\bnew Date\(\)/.test(readFileSync(path, 'utf8')));
  expect(offences).toEqual([]);
});

/** The path of a cookie covers several calls; what moved has the old path and the new. */
const ownPaths = ['packages/server/modules/auth/sessions/session-cookies.ts', 'packages/server/http/not-found.ts'];

test('paths of the API come from the contract', () => {
  const offences = production
    .filter((path) => /^packages\/(server|web|cli)\//.test(path) && !ownPaths.includes(path))
    .filter((path) => readFileSync(path, 'utf8').includes('/api/v1'));
  expect(offences).toEqual([]);
});

/** Each side of a wall has one place for them; the sandbox imports nothing and says its own. */
test('a minute, an hour and a day are named and not counted in zeros', () => {
  const offences = production
    .filter((path) => /^packages\/(contract|engine|server|web|cli)\//.test(path) && !path.endsWith('/durations.ts'))
    .filter((path) => !/^packages\/contract\/(events\/samples|examples)\.ts$/.test(path))
    .filter((path) =>
      /\b(86_?400_?000|3_?600_?000|60_000)\b|\b24 \* (60|3_?600)\b|\b60 \* 60\b|\b60 \* 1000\b|\b(minute|hour|day)Ms = /.test(
        readFileSync(path, 'utf8'),
      ),
    );
  expect(offences).toEqual([]);
});

interface Names {
  /** Declared here. */
  own: Set<string>;
  /** Handed on from another file, and what it is called there. */
  passed: Map<string, { target: string; name: string }>;
  /** Files of which everything is handed on. */
  stars: string[];
  /** What this file takes from others; `*` is everything. */
  taken: { target: string; name: string }[];
}

/** Package entries by what an import calls them, such as `@holdfast/contract/client`. */
const entries = files
  .filter((path) => /^packages\/\w+\/package\.json$/.test(path))
  .flatMap((path) => {
    const { name, exports = {} } = JSON.parse(readFileSync(path, 'utf8')) as {
      name: string;
      exports?: Record<string, string>;
    };
    return Object.entries(exports).map(([key, file]) => ({
      specifier: join(name, key),
      file: join(dirname(path), file),
    }));
  });

function fileOf(path: string, specifier: string): string {
  if (specifier.startsWith('.')) return normalize(join(dirname(path), specifier));
  const [start = ''] = specifier.split('*');
  const found = entries.find((entry) =>
    entry.specifier.endsWith('*') ? start.startsWith(entry.specifier.slice(0, -1)) : entry.specifier === specifier,
  );
  return found?.file.replace('*', specifier.slice(found.specifier.length - 1)) ?? '';
}

function namesOf(path: string): Names {
  const text = readFileSync(path, 'utf8');
  const all = (pattern: RegExp) => [...text.matchAll(pattern)];
  const list = (names = '') =>
    names.split(',').flatMap((part) => {
      const [name = '', alias = name] = part
        .trim()
        .replace(/^type /, '')
        .split(/\s+as\s+/);
      return name === '' ? [] : [{ name, alias }];
    });
  const own = all(/^export (?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm);
  const lists = all(/^export (?:type )?\{([^}]*)\}(?: from '([^']+)')?/gm);
  const imports = all(/^import (?:type )?(\w+)?(?:, )?(?:\{([^}]*)\})?(\* as \w+)? from '([^']+)'/gm);
  const dynamic = all(/\bimport\(\s*'([^']+)'\s*\)/g);
  return {
    own: new Set([
      ...own.map((match) => match[1] as string),
      ...lists.flatMap((match) => (match[2] ? [] : list(match[1]).map(({ alias }) => alias))),
    ]),
    passed: new Map(
      lists.flatMap(([, names, from]) =>
        from ? list(names).map(({ name, alias }) => [alias, { target: fileOf(path, from), name }] as const) : [],
      ),
    ),
    stars: all(/^export (?:type )?\* from '([^']+)'/gm).map((match) => fileOf(path, match[1] as string)),
    taken: [
      ...imports.flatMap(([, , names, everything, from = '']) => {
        const target = fileOf(path, from);
        return [...list(names).map(({ name }) => ({ target, name })), ...(everything ? [{ target, name: '*' }] : [])];
      }),
      ...dynamic.map((match) => ({ target: fileOf(path, match[1] as string), name: '*' })),
    ],
  };
}

test('what is exported is imported somewhere', () => {
  const modules = new Map(sources.map((path) => [path, namesOf(path)]));
  const used = new Set<string>();
  const use = (path: string, name: string): void => {
    const module = modules.get(path);
    if (!module || used.has(`${path} ${name}`)) return;
    used.add(`${path} ${name}`);
    const names = name === '*' ? [...module.own, ...module.passed.keys()] : [];
    for (const each of names) use(path, each);
    const passed = module.passed.get(name);
    if (passed) use(passed.target, passed.name);
    else if (!module.own.has(name)) for (const star of module.stars) use(star, name);
  };
  for (const { taken } of modules.values()) for (const { target, name } of taken) use(target, name);
  // The contract is published, and so is what a package names in its entries.
  for (const { file } of entries) {
    if (file.startsWith('packages/contract/')) use(file, '*');
    for (const path of [file, ...(modules.get(file)?.stars ?? [])])
      for (const name of modules.get(path)?.passed.keys() ?? []) use(path, name);
  }
  const offences = production
    .filter((path) => path.startsWith('packages/') && !path.endsWith('tables.ts'))
    .flatMap((path) => {
      const { own, passed } = modules.get(path) as Names;
      const text = readFileSync(path, 'utf8');
      // A type may be named for the sake of whoever calls what stands beside it.
      const serves = (name: string) =>
        new RegExp(`^export (interface|type) ${name}\\b`, 'm').test(text) &&
        [...text.matchAll(new RegExp(`\\b${name}\\b`, 'g'))].length > 1;
      return [...own, ...passed.keys()]
        .filter((name) => !used.has(`${path} ${name}`) && !serves(name))
        .map((name) => `${path} exports ${name}`);
    });
  expect(offences).toEqual([]);
});

test('private members are private to the language too', () => {
  const offences = sources.filter((path) =>
    /^\s+(private|protected) (?!constructor)/m.test(readFileSync(path, 'utf8')),
  );
  expect(offences).toEqual([]);
});

test('the project speaks of itself alone', () => {
  const words = [/\bfarm-studio\b/, /\/work\/(main|shared)/, /\bTODO\b/, /\bFIXME\b/, /\.only\(/, /"resolved": "http/];
  const offences = files
    .filter((path) => /\.(ts|tsx|md|json|sql|ya?ml|html|css|sh)$|^\.ci\//.test(path) && path !== 'tidy.test.ts')
    .flatMap((path) => {
      const text = readFileSync(path, 'utf8');
      return words.filter((word) => word.test(text)).map((word) => `${path} has ${word.source}`);
    });
  expect(offences).toEqual([]);
});
