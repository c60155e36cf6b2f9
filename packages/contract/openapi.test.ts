import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { errorCodes, errorDefinition } from './errors.ts';
import { events } from './events.ts';
import { apiVersion, createOpenApi } from './openapi.ts';
import { errorsOf } from './operation.ts';
import { allOperations, documentedOperations } from './operations/index.ts';

const run = promisify(execFile);
const folder = import.meta.dirname;
const committed = readFileSync(`${folder}/openapi.json`, 'utf8');

interface Document {
  paths: Record<
    string,
    Record<string, { operationId: string; security: object[]; responses: Record<string, { $ref?: string }> }>
  >;
  webhooks: Record<string, object>;
  components: { responses: Record<string, { description: string }>; schemas: Record<string, object> };
}
const document = createOpenApi() as Document;

test('the committed document is the one that the contract generates; after a change run: node packages/contract/generate-openapi.ts', () => {
  // Compared as one boolean, because a diff of the whole document would help nobody.
  expect(committed === `${JSON.stringify(document, null, 2)}\n`).toBe(true);
});

test('its version is the version of the package', () => {
  expect(JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')).version).toBe(apiVersion);
});

test('it contains every operation that is served, and none that is only planned', () => {
  const shown = Object.values(document.paths).flatMap((path) =>
    Object.values(path).map((operation) => operation.operationId),
  );
  expect(shown.sort()).toEqual(documentedOperations.map((operation) => operation.id).sort());
  const planned = allOperations.filter((operation) => operation.available === false);
  for (const { path, id } of planned) expect(document.paths[path], id).toBeUndefined();
});

test('every operation lists each of its errors under the right status', () => {
  for (const operation of documentedOperations) {
    const { responses } = document.paths[operation.path]![operation.method.toLowerCase()]!;
    const taken = new Set([operation.success, ...(operation.alternatives ?? [])].map((success) => success.status));
    for (const code of errorsOf(operation)) {
      const { status } = errorDefinition(code);
      if (taken.has(status)) continue;
      const name = responses[status]?.$ref?.split('/').at(-1) ?? '';
      expect(document.components.responses[name]?.description, `${operation.id} ${code}`).toContain(`\`${code}\``);
    }
  }
});

test('every error code is explained somewhere', () => {
  for (const code of errorCodes)
    expect(committed).toContain(`\`${code}\`: ${errorDefinition(code).description}`.slice(0, 40));
});

test('every event is there in each of its formats', () => {
  const promised = Object.values(events).flatMap((event) =>
    Object.keys(event.formats).map((format) => (format === 'simple' ? `simple.${event.name}` : event.name)),
  );
  expect(Object.keys(document.webhooks).sort()).toEqual(promised.sort());
  for (const name of ['backup.started', 'backup.failed', 'schedule.triggered', 'schedule.failed'])
    expect(JSON.stringify(document.webhooks[name]), name).toContain(
      '"metadata":{"trigger":"scheduled","scheduleId":"sch_',
    );
});

test('only public operations go without a credential', () => {
  for (const operation of documentedOperations) {
    const { security } = document.paths[operation.path]![operation.method.toLowerCase()]!;
    expect(
      security.some((entry) => Object.keys(entry).length === 0),
      operation.id,
    ).toBe(operation.access.kind === 'public');
  }
});

test('every pattern in it is a regular expression, with and without the unicode flag', () => {
  const patterns = [...committed.matchAll(/"pattern": ("(?:[^"\\]|\\.)*")/g)].map(
    (match) => JSON.parse(match[1]!) as string,
  );
  expect(patterns.length).toBeGreaterThan(100);
  for (const pattern of new Set(patterns)) {
    expect(() => new RegExp(pattern), pattern).not.toThrow();
    expect(() => new RegExp(pattern, 'u'), pattern).not.toThrow();
  }
});

test('every reference in it has a target', () => {
  const references = [...committed.matchAll(/"\$ref": "#\/([^"]+)"/g)].map((match) => match[1]!);
  for (const reference of new Set(references)) {
    const target = reference
      .split('/')
      .reduce<unknown>(
        (node, key) => (node as Record<string, unknown> | undefined)?.[key.replaceAll('~1', '/')],
        document,
      );
    expect(target, reference).toBeDefined();
  }
});

describe('linters find nothing', () => {
  const require = createRequire(import.meta.url);
  const quiet = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' };
  const options = { cwd: folder, env: quiet, maxBuffer: 64 * 1024 * 1024 };
  /** A linter that finds something exits with a failure; its output is what counts. */
  const lint = async (bin: string, args: string[]) => {
    const { stdout } = await run(process.execPath, [bin, ...args], options).catch(
      (failure: { stdout: string }) => failure,
    );
    return stdout;
  };

  test('Spectral with the OpenAPI and OWASP rules', { tags: 'long' }, async () => {
    const bin = require.resolve('@stoplight/spectral-cli/dist/index.js');
    const output = await lint(bin, ['lint', 'openapi.json', '-r', '.spectral.yaml', '-f', 'json', '-q']);
    expect(JSON.parse(output)).toEqual([]);
  });

  test('Redocly with its recommended rules', { tags: 'long' }, async () => {
    const bin = `${require.resolve('@redocly/cli/package.json').replace('package.json', '')}bin/cli.js`;
    const output = await lint(bin, ['lint', 'openapi.json', '--config', 'redocly.yaml', '--format', 'json']);
    const report = JSON.parse(output) as { totals: { errors: number; warnings: number } };
    expect(report.totals).toMatchObject({ errors: 0, warnings: 0 });
  });
});
