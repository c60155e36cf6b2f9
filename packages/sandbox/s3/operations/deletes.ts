import { bucketOf, type Call, documentOf, type Operation, type Reply } from '../call.ts';
import { checkWriteConditions } from '../conditions.ts';
import { notImplemented, S3Error } from '../errors.ts';
import { checkRemovable } from '../lock.ts';
import type { Bucket, S3State } from '../state.ts';
import { childText, element, optional, type XmlNode } from '../xml.ts';

const keysMax = 1000;

interface Removed {
  isDeleteMarker: boolean;
  versionId?: string;
}

/** Without a version id a versioned bucket gets a delete marker; with one, that version is gone for good. */
async function removeKey(
  state: S3State,
  bucket: Bucket,
  key: string,
  versionId: string | undefined,
  bypassGovernance: boolean,
): Promise<Removed> {
  const versions = bucket.keys.get(key) ?? [];
  const { versioning } = bucket.settings;
  if (versionId !== undefined) {
    const version = versions.find((one) => one.versionId === versionId);
    if (!version) return { isDeleteMarker: false, versionId };
    checkRemovable(version, bypassGovernance, state.now());
    await state.removeVersion(bucket, version);
    return { isDeleteMarker: version.isDeleteMarker, versionId };
  }
  if (versioning === 'Off') {
    if (versions[0]) await state.removeVersion(bucket, versions[0]);
    return { isDeleteMarker: false };
  }
  const marker = await state.addVersion(bucket, {
    key,
    isDeleteMarker: true,
    size: 0,
    etag: '',
    modifiedAtMs: state.now(),
    headers: { contentType: '', system: {}, user: {} },
    pieces: [],
    parts: [],
    legalHold: false,
  });
  return { isDeleteMarker: true, versionId: marker.versionId };
}

function bypassesGovernance(call: Call): boolean {
  return call.headers['x-amz-bypass-governance-retention']?.toLowerCase() === 'true';
}

async function deleteObject(call: Call): Promise<Reply> {
  const bucket = bucketOf(call);
  if (call.headers['if-match'] !== undefined) {
    const current = bucket.keys.get(call.key)?.[0];
    checkWriteConditions({ 'if-match': call.headers['if-match'] }, current);
  }
  const removed = await removeKey(call.state, bucket, call.key, call.query.get('versionId'), bypassesGovernance(call));
  return {
    status: 204,
    headers: {
      ...(removed.isDeleteMarker && { 'x-amz-delete-marker': 'true' }),
      ...(removed.versionId !== undefined && { 'x-amz-version-id': removed.versionId }),
    },
  };
}

async function deleteObjects(call: Call): Promise<Reply> {
  const bucket = bucketOf(call);
  const { root, received } = await documentOf(call, 'Delete');
  if (!received.checksum && call.headers['content-md5'] === undefined)
    throw new S3Error('InvalidRequest', 'Missing required header for this request: Content-MD5 OR x-amz-checksum-*');
  const entries = root.children.filter((child) => child.name === 'Object');
  if (entries.length === 0 || entries.length > keysMax) throw new S3Error('MalformedXML');
  const quiet = childText(root, 'Quiet') === 'true';
  const results: XmlNode[] = [];
  for (const entry of entries) {
    const result = await deleteEntry(call, bucket, entry);
    if (result.name === 'Error' || !quiet) results.push(result);
  }
  return { status: 200, xml: element('DeleteResult', results) };
}

async function deleteEntry(call: Call, bucket: Bucket, entry: XmlNode): Promise<XmlNode> {
  const key = childText(entry, 'Key');
  const versionId = childText(entry, 'VersionId');
  if (!key) throw new S3Error('MalformedXML');
  const other = entry.children.find((child) => child.name !== 'Key' && child.name !== 'VersionId');
  if (other) throw notImplemented(`Element ${other.name} of DeleteObjects`);
  try {
    const removed = await removeKey(call.state, bucket, key, versionId, bypassesGovernance(call));
    return element('Deleted', [
      element('Key', key),
      ...optional('VersionId', versionId),
      ...(removed.isDeleteMarker ? [element('DeleteMarker', true)] : []),
      ...(removed.isDeleteMarker ? optional('DeleteMarkerVersionId', removed.versionId) : []),
    ]);
  } catch (error) {
    if (!(error instanceof S3Error)) throw error;
    return element('Error', [
      element('Key', key),
      ...optional('VersionId', versionId),
      element('Code', error.code),
      element('Message', error.message),
    ]);
  }
}

const bypass = 'x-amz-bypass-governance-retention';

export const deleteOperations: Operation[] = [
  {
    name: 'DeleteObject',
    method: 'DELETE',
    level: 'object',
    query: ['versionId'],
    headers: [bypass],
    writes: true,
    run: deleteObject,
  },
  {
    name: 'DeleteObjects',
    method: 'POST',
    level: 'bucket',
    marks: ['delete'],
    headers: [bypass, 'x-amz-checksum-*'],
    writes: true,
    run: deleteObjects,
  },
];
