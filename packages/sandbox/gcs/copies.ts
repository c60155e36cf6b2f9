import { combineCrc } from '../objects/crc.ts';
import { type Call, integerParameter, type Operation, type Reply, readJson } from './call.ts';
import { GcsError } from './errors.ts';
import type { StoredObject } from './model.ts';
import { checkPreconditions, preconditions } from './preconditions.ts';
import { objectResource } from './resources.ts';
import { readObjectSettings } from './settings.ts';
import { checkName, type NewObject, placeObject } from './write-object.ts';

const componentsMax = 32;
const sourcePreconditions = preconditions.map((name) => name.replace(/^if/, 'ifSource'));

/** A copy shares its source's bytes; they are freed with the last of them. */
async function copy(call: Call): Promise<{ placed: StoredObject; resource: Record<string, unknown> }> {
  const resource = await readJson(call.request as AsyncIterable<Buffer>);
  const [sourceBucket, sourceName, targetBucket, targetName] = call.names as [string, string, string, string];
  const { state, query } = call;
  const source = state.object(sourceBucket, sourceName);
  const bucket = state.bucket(targetBucket);
  checkName(targetName);
  const generation = integerParameter(query, 'sourceGeneration');
  if (generation !== undefined && generation !== source.generation)
    throw new GcsError('notFound', `No such object: ${sourceBucket}/${sourceName}#${generation}`);
  checkPreconditions(query, source, 'write', 'Source');
  const { temporaryHold: _, eventBasedHold: __, retention: ___, ...kept } = source.settings;
  // A description replaces that of the source; without one it is copied, but its protection is not.
  const base = Object.keys(resource).length > 0 ? {} : kept;
  const settings = readObjectSettings(resource, bucket.settings, state.now(), base);
  for (const piece of source.pieces) state.contents.retain(piece);
  const placed = await placeObject(state, bucket, query, { ...digestsOf(source), name: targetName, settings });
  return { placed, resource: objectResource(placed, bucket.settings, call.baseUrl) };
}

function digestsOf({ pieces, size, md5, crc32c, componentCount }: StoredObject): Omit<NewObject, 'name' | 'settings'> {
  return {
    pieces,
    size,
    crc32c,
    ...(md5 !== undefined && { md5 }),
    ...(componentCount !== undefined && { componentCount }),
  };
}

async function rewriteObject(call: Call): Promise<Reply> {
  if (call.query.has('rewriteToken')) throw new GcsError('invalid', 'Invalid rewrite token.');
  const { placed, resource } = await copy(call);
  const size = String(placed.size);
  return {
    status: 200,
    json: { kind: 'storage#rewriteResponse', totalBytesRewritten: size, objectSize: size, done: true, resource },
  };
}

async function composeObject(call: Call): Promise<Reply> {
  const body = await readJson(call.request as AsyncIterable<Buffer>);
  const [bucketName, name] = call.names as [string, string];
  const { state } = call;
  const bucket = state.bucket(bucketName);
  checkName(name);
  const listed = (Array.isArray(body.sourceObjects) ? body.sourceObjects : []) as {
    name?: string;
    generation?: string;
  }[];
  if (listed.length === 0 || listed.length > componentsMax)
    throw new GcsError('invalid', `The number of source components must be 1 to ${componentsMax}.`);
  const sources = listed.map((one) => {
    const source = state.object(bucketName, one.name ?? '');
    if (one.generation !== undefined && Number(one.generation) !== source.generation)
      throw new GcsError('notFound', `No such object: ${bucketName}/${one.name}#${one.generation}`);
    return source;
  });
  const resource = (body.destination ?? {}) as Record<string, unknown>;
  const settings = readObjectSettings(resource, bucket.settings, state.now());
  const pieces = sources.flatMap((source) => source.pieces);
  for (const piece of pieces) state.contents.retain(piece);
  const crc32c = sources
    .map((source) => ({ crc: Buffer.from(source.crc32c, 'base64') as Buffer, size: source.size }))
    .reduce((whole, next) => ({ crc: combineCrc('CRC32C', whole.crc, next.crc, next.size), size: 0 })).crc;
  const placed = await placeObject(state, bucket, call.query, {
    name,
    pieces,
    size: sources.reduce((sum, source) => sum + source.size, 0),
    crc32c: crc32c.toString('base64'),
    componentCount: sources.reduce((sum, source) => sum + (source.componentCount ?? 1), 0),
    settings,
  });
  return { status: 200, json: objectResource(placed, bucket.settings, call.baseUrl) };
}

const copyQuery = ['sourceGeneration', ...preconditions, ...sourcePreconditions];

export const copyOperations: Operation[] = [
  {
    name: 'RewriteObject',
    method: 'POST',
    path: '/storage/v1/b/*/o/*/rewriteTo/b/*/o/*',
    query: [...copyQuery, 'rewriteToken', 'maxBytesRewrittenPerCall'],
    writes: true,
    run: rewriteObject,
  },
  {
    name: 'CopyObject',
    method: 'POST',
    path: '/storage/v1/b/*/o/*/copyTo/b/*/o/*',
    query: copyQuery,
    writes: true,
    run: async (call) => ({ status: 200, json: (await copy(call)).resource }),
  },
  {
    name: 'ComposeObject',
    method: 'POST',
    path: '/storage/v1/b/*/o/*/compose',
    query: preconditions,
    writes: true,
    run: composeObject,
  },
];
