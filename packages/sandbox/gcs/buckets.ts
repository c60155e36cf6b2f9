import { type Call, integerParameter, type Operation, type Reply, readJson } from './call.ts';
import { GcsError, notImplemented } from './errors.ts';
import type { BucketSettings } from './model.ts';
import { bucketResource } from './resources.ts';

const bucketNamePattern = /^(?!goog)(?!.*(google|\.\.))(?!\d+\.\d+\.\d+\.\d+$)[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/;
const pageMax = 1000;
/** Accepted, because a new bucket already has these settings. */
const harmless = ['name', 'location', 'storageClass', 'iamConfiguration', 'kind', 'id'];

/** Applies what a bucket resource sets. Null removes. */
function applySettings(base: BucketSettings, resource: Record<string, unknown>, nowMs: number): BucketSettings {
  const settings = { ...base, updatedAtMs: nowMs, metageneration: base.metageneration + 1 };
  for (const [name, value] of Object.entries(resource)) {
    if (harmless.includes(name)) continue;
    if (name === 'defaultEventBasedHold') settings.defaultEventBasedHold = value === true;
    else if (name === 'retentionPolicy') applyRetention(settings, value, nowMs);
    else if (name === 'versioning') settings.versioning = Object(value).enabled === true;
    else throw notImplemented(`Field ${name} of a bucket`);
  }
  return settings;
}

function applyRetention(settings: BucketSettings, value: unknown, nowMs: number): void {
  const current = settings.retentionPolicy;
  const period = value === null ? undefined : Number((value as Record<string, unknown>).retentionPeriod);
  if (period !== undefined && !(Number.isInteger(period) && period > 0 && period < 3_155_760_000))
    throw new GcsError('invalid', 'The retention period must be between 1 second and 100 years.');
  if (current?.isLocked && (period === undefined || period < current.retentionPeriodSeconds))
    throw new GcsError('forbidden', 'Cannot reduce retention duration of a locked Retention Policy for bucket.');
  if (period === undefined) delete settings.retentionPolicy;
  else
    settings.retentionPolicy = {
      retentionPeriodSeconds: period,
      effectiveAtMs: nowMs,
      isLocked: current?.isLocked ?? false,
    };
}

async function createBucket(call: Call): Promise<Reply> {
  const { state, query } = call;
  const resource = await readJson(call.request as AsyncIterable<Buffer>);
  const project = query.get('project');
  const name = String(resource.name ?? '');
  if (!project) throw new GcsError('required', 'Required parameter: project');
  if (!bucketNamePattern.test(name)) throw new GcsError('invalid', `Invalid bucket name: '${name}'`);
  if (state.buckets.get(name))
    throw new GcsError(
      'conflict',
      'Your previous request to create the named bucket succeeded and you already own it.',
    );
  const nowMs = state.now();
  const base: BucketSettings = {
    name,
    project,
    location: String(resource.location ?? 'US').toUpperCase(),
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    metageneration: 0,
    objectRetention: query.get('enableObjectRetention') === 'true',
  };
  const settings = applySettings(base, resource, nowMs);
  await state.saveBucket(settings);
  return { status: 200, json: bucketResource(settings, call.baseUrl) };
}

function checkMetageneration(call: Call, settings: BucketSettings): void {
  const wanted = integerParameter(call.query, 'ifMetagenerationMatch');
  if (wanted !== undefined && wanted !== settings.metageneration)
    throw new GcsError('conditionNotMet', 'At least one of the pre-conditions you specified did not hold.');
}

async function getBucket(call: Call): Promise<Reply> {
  const { settings } = call.state.bucket(call.names[0]!);
  checkMetageneration(call, settings);
  return { status: 200, json: bucketResource(settings, call.baseUrl) };
}

async function patchBucket(call: Call): Promise<Reply> {
  const resource = await readJson(call.request as AsyncIterable<Buffer>);
  const { settings } = call.state.bucket(call.names[0]!);
  checkMetageneration(call, settings);
  const patched = applySettings(settings, resource, call.state.now());
  await call.state.saveBucket(patched);
  return { status: 200, json: bucketResource(patched, call.baseUrl) };
}

async function lockRetentionPolicy(call: Call): Promise<Reply> {
  const { settings } = call.state.bucket(call.names[0]!);
  if (!call.query.has('ifMetagenerationMatch'))
    throw new GcsError('required', 'Required parameter: ifMetagenerationMatch');
  checkMetageneration(call, settings);
  if (!settings.retentionPolicy) throw new GcsError('invalid', 'The bucket has no retention policy.');
  const retentionPolicy = { ...settings.retentionPolicy, isLocked: true };
  const locked = {
    ...settings,
    retentionPolicy,
    metageneration: settings.metageneration + 1,
    updatedAtMs: call.state.now(),
  };
  await call.state.saveBucket(locked);
  return { status: 200, json: bucketResource(locked, call.baseUrl) };
}

async function deleteBucket(call: Call): Promise<Reply> {
  const bucket = call.state.bucket(call.names[0]!);
  checkMetageneration(call, bucket.settings);
  if (bucket.objects.size + bucket.former.size > 0)
    throw new GcsError('conflict', 'The bucket you tried to delete is not empty.');
  await call.state.removeBucket(bucket.settings.name);
  return { status: 204 };
}

async function listBuckets(call: Call): Promise<Reply> {
  const { query } = call;
  const project = query.get('project');
  if (!project) throw new GcsError('required', 'Required parameter: project');
  const prefix = query.get('prefix') ?? '';
  const after = query.get('pageToken') ?? '';
  const max = Math.min(integerParameter(query, 'maxResults') ?? pageMax, pageMax);
  const all = [...call.state.buckets.entriesFrom(after)].filter(
    ([name, { settings }]) => name !== after && name.startsWith(prefix) && settings.project === project,
  );
  const page = all.slice(0, max);
  return {
    status: 200,
    json: {
      kind: 'storage#buckets',
      ...(all.length > max && { nextPageToken: page.at(-1)![0] }),
      items: page.map(([, { settings }]) => bucketResource(settings, call.baseUrl)),
    },
  };
}

const bucket = '/storage/v1/b/*';
const condition = ['ifMetagenerationMatch'];

export const bucketOperations: Operation[] = [
  {
    name: 'ListBuckets',
    method: 'GET',
    path: '/storage/v1/b',
    query: ['project', 'prefix', 'maxResults', 'pageToken'],
    writes: false,
    run: listBuckets,
  },
  {
    name: 'CreateBucket',
    method: 'POST',
    path: '/storage/v1/b',
    query: ['project', 'enableObjectRetention'],
    writes: true,
    run: createBucket,
  },
  { name: 'GetBucket', method: 'GET', path: bucket, query: condition, writes: false, run: getBucket },
  { name: 'PatchBucket', method: 'PATCH', path: bucket, query: condition, writes: true, run: patchBucket },
  { name: 'DeleteBucket', method: 'DELETE', path: bucket, query: condition, writes: true, run: deleteBucket },
  {
    name: 'LockRetentionPolicy',
    method: 'POST',
    path: '/storage/v1/b/*/lockRetentionPolicy',
    query: condition,
    writes: true,
    run: lockRetentionPolicy,
  },
];
