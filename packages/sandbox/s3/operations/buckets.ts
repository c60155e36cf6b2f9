import { bucketOf, type Call, documentOf, type Operation, type Reply } from '../call.ts';
import { S3Error } from '../errors.ts';
import { receiveDocument } from '../payload.ts';
import { childText, element, parseXml } from '../xml.ts';
import { owner } from './lists.ts';

const name = /^(?!xn--|sthree-|.*-s3alias$|.*\.\.)(?!\d+\.\d+\.\d+\.\d+$)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

async function createBucket(call: Call): Promise<Reply> {
  if (!name.test(call.bucketName)) throw new S3Error('InvalidBucketName', undefined, { BucketName: call.bucketName });
  const { text } = await receiveDocument(call.payload);
  const location = text === '' ? undefined : locationOf(text);
  if (location !== undefined && location !== call.region)
    throw new S3Error(
      'IllegalLocationConstraintException',
      `The ${location} location constraint is incompatible for the region specific endpoint this request was sent to.`,
    );
  if (call.state.buckets.get(call.bucketName))
    throw new S3Error('BucketAlreadyOwnedByYou', undefined, { BucketName: call.bucketName });
  const objectLock = call.headers['x-amz-bucket-object-lock-enabled']?.toLowerCase() === 'true';
  await call.state.saveBucket({
    name: call.bucketName,
    region: call.region,
    createdAtMs: call.state.now(),
    versioning: objectLock ? 'Enabled' : 'Off',
    objectLock,
  });
  return { status: 200, headers: { location: `/${call.bucketName}` } };
}

function locationOf(text: string): string | undefined {
  const root = parseXml(text);
  if (root?.name !== 'CreateBucketConfiguration') throw new S3Error('MalformedXML');
  return childText(root, 'LocationConstraint');
}

async function deleteBucket(call: Call): Promise<Reply> {
  const bucket = bucketOf(call);
  if (bucket.keys.size > 0 || bucket.uploads.size > 0)
    throw new S3Error('BucketNotEmpty', undefined, { BucketName: call.bucketName });
  await call.state.removeBucket(call.bucketName);
  return { status: 204 };
}

async function headBucket(call: Call): Promise<Reply> {
  bucketOf(call);
  return { status: 200, headers: { 'x-amz-bucket-region': call.region, 'x-amz-access-point-alias': 'false' } };
}

async function listBuckets(call: Call): Promise<Reply> {
  const allowed = call.payload.signature.credential.buckets;
  const prefix = call.query.get('prefix') ?? '';
  const max = Number(call.query.get('max-buckets') ?? 10_000);
  if (!(max >= 1 && max <= 10_000)) throw new S3Error('InvalidArgument', 'max-buckets must be between 1 and 10000');
  const after = call.query.get('continuation-token') ?? '';
  const names = [...call.state.buckets.entriesFrom(after)].filter(
    ([name]) => name !== after && name.startsWith(prefix) && (!allowed || allowed.includes(name)),
  );
  const page = names.slice(0, max);
  return {
    status: 200,
    xml: element('ListAllMyBucketsResult', [
      owner,
      element(
        'Buckets',
        page.map(([name, { settings }]) =>
          element('Bucket', [
            element('Name', name),
            element('CreationDate', new Date(settings.createdAtMs).toISOString()),
            element('BucketRegion', settings.region),
          ]),
        ),
      ),
      ...(names.length > max ? [element('ContinuationToken', page.at(-1)![0])] : []),
    ]),
  };
}

async function getBucketLocation(call: Call): Promise<Reply> {
  const { region } = bucketOf(call).settings;
  return { status: 200, xml: element('LocationConstraint', region === 'us-east-1' ? '' : region) };
}

async function getBucketVersioning(call: Call): Promise<Reply> {
  const { versioning } = bucketOf(call).settings;
  return {
    status: 200,
    xml: element('VersioningConfiguration', versioning === 'Off' ? [] : [element('Status', versioning)]),
  };
}

async function putBucketVersioning(call: Call): Promise<Reply> {
  const { settings } = bucketOf(call);
  const { root } = await documentOf(call, 'VersioningConfiguration');
  const status = childText(root, 'Status');
  if (status !== 'Enabled' && status !== 'Suspended') throw new S3Error('MalformedXML');
  if (status === 'Suspended' && settings.objectLock)
    throw new S3Error(
      'InvalidBucketState',
      'An Object Lock configuration is present on this bucket, so the versioning state cannot be changed.',
    );
  await call.state.saveBucket({ ...settings, versioning: status });
  return { status: 200 };
}

export const bucketOperations: Operation[] = [
  {
    name: 'ListBuckets',
    method: 'GET',
    level: 'service',
    query: ['max-buckets', 'prefix', 'continuation-token'],
    writes: false,
    run: listBuckets,
  },
  {
    name: 'CreateBucket',
    method: 'PUT',
    level: 'bucket',
    headers: ['x-amz-bucket-object-lock-enabled'],
    writes: true,
    run: createBucket,
  },
  { name: 'DeleteBucket', method: 'DELETE', level: 'bucket', writes: true, run: deleteBucket },
  { name: 'HeadBucket', method: 'HEAD', level: 'bucket', writes: false, run: headBucket },
  {
    name: 'GetBucketLocation',
    method: 'GET',
    level: 'bucket',
    marks: ['location'],
    writes: false,
    run: getBucketLocation,
  },
  {
    name: 'GetBucketVersioning',
    method: 'GET',
    level: 'bucket',
    marks: ['versioning'],
    writes: false,
    run: getBucketVersioning,
  },
  {
    name: 'PutBucketVersioning',
    method: 'PUT',
    level: 'bucket',
    marks: ['versioning'],
    headers: ['x-amz-checksum-*'],
    writes: true,
    run: putBucketVersioning,
  },
];
