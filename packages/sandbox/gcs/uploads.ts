import { type Call, type Operation, parseJson, type Reply, readJson } from './call.ts';
import { GcsError } from './errors.ts';
import { MultipartRelated } from './multipart-related.ts';
import { checkPreconditions, preconditions } from './preconditions.ts';
import { checkReplaceable } from './protection.ts';
import { objectResource } from './resources.ts';
import { readObjectSettings } from './settings.ts';
import { checkDigests, checkName, claimedDigests, damage, placeObject, startDigests } from './write-object.ts';

interface Body {
  /** Gives the object's bytes within a piece of the request's body. */
  push(bytes: Buffer): Buffer[];
  /** The object's description, known when everything was read. */
  finish(): { resource: Record<string, unknown>; contentType: string | undefined };
}

function simpleBody(call: Call): Body {
  return { push: (bytes) => [bytes], finish: () => ({ resource: {}, contentType: call.headers['content-type'] }) };
}

function multipartBody(call: Call): Body {
  const reader = new MultipartRelated(call.headers['content-type'] ?? '');
  return {
    push: (bytes) => reader.push(bytes),
    finish: () => ({ resource: parseJson(reader.finish()), contentType: reader.mediaContentType }),
  };
}

/** One request that carries the whole object. */
async function uploadAtOnce(call: Call, body: Body): Promise<Reply> {
  const { state, query, request } = call;
  const bucket = state.bucket(call.names[0]!);
  const digests = startDigests();
  const writer = state.contents.create();
  // Only the object's own bytes are damaged, because they have a digest. The description before them has none.
  let damageAt = call.corruptAt;
  let description: ReturnType<Body['finish']>;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      for (const sent of body.push(chunk)) {
        let bytes = sent;
        if (damageAt !== undefined && sent.length > 0) {
          bytes = damage(sent, 0, Math.floor(damageAt * sent.length));
          damageAt = undefined;
        }
        digests.md5.update(bytes);
        digests.crc32c.update(bytes);
        const pending = writer.write(bytes);
        if (pending) await pending;
      }
    }
    description = body.finish();
  } catch (error) {
    await writer.abort();
    throw error;
  }
  const piece = await writer.finish();
  const actual = { md5: digests.md5.digest().toString('base64'), crc32c: digests.crc32c.digest().toString('base64') };
  try {
    const { resource, contentType } = description;
    const name = query.get('name') ?? String(resource.name ?? '');
    checkName(name);
    checkDigests(claimedDigests(call.headers, resource), actual);
    const base = contentType === undefined ? {} : { contentType };
    const settings = readObjectSettings(resource, bucket.settings, state.now(), base);
    state.contents.retain(piece);
    const placed = await placeObject(state, bucket, query, {
      name,
      pieces: [piece],
      size: piece.size,
      ...actual,
      settings,
    });
    return { status: 200, json: objectResource(placed, bucket.settings, call.baseUrl) };
  } finally {
    // The object now retains the piece itself; if it was refused, nothing does.
    state.contents.release(piece);
  }
}

async function startResumable(call: Call): Promise<Reply> {
  const { state, query, headers } = call;
  const bucket = state.bucket(call.names[0]!);
  const resource = await readJson(call.request as AsyncIterable<Buffer>);
  const name = query.get('name') ?? String(resource.name ?? '');
  checkName(name);
  const contentType = headers['x-upload-content-type'];
  const settings = readObjectSettings(resource, bucket.settings, state.now(), contentType ? { contentType } : {});
  const current = bucket.objects.get(name);
  checkPreconditions(query, current, 'write');
  checkReplaceable(current, bucket.settings, state.now());
  const length = headers['x-upload-content-length'];
  if (length !== undefined && !/^\d{1,15}$/.test(length))
    throw new GcsError('invalid', 'Invalid X-Upload-Content-Length.');
  const uploadId = call.sessions.start({
    bucketName: bucket.settings.name,
    name,
    settings,
    query,
    claimed: claimedDigests(headers, resource),
    totalBytes: length === undefined ? undefined : Number(length),
  });
  const path = `${call.baseUrl}/upload/storage/v1/b/${encodeURIComponent(bucket.settings.name)}/o`;
  const location = `${path}?uploadType=resumable&name=${encodeURIComponent(name)}&upload_id=${uploadId}`;
  return { status: 200, headers: { location, 'x-guploader-uploadid': uploadId } };
}

const upload = '/upload/storage/v1/b/*/o';
const uploadQuery = ['name', 'uploadType', ...preconditions];
const chunkQuery = [...uploadQuery, 'upload_id'];

export const uploadOperations: Operation[] = [
  {
    name: 'UploadMedia',
    method: 'POST',
    path: upload,
    when: ['uploadType', 'media'],
    query: uploadQuery,
    writes: true,
    run: (call) => uploadAtOnce(call, simpleBody(call)),
  },
  {
    name: 'UploadMultipart',
    method: 'POST',
    path: upload,
    when: ['uploadType', 'multipart'],
    query: uploadQuery,
    writes: true,
    run: (call) => uploadAtOnce(call, multipartBody(call)),
  },
  {
    name: 'StartResumable',
    method: 'POST',
    path: upload,
    when: ['uploadType', 'resumable'],
    query: uploadQuery,
    writes: true,
    run: startResumable,
  },
  {
    name: 'ContinueResumable',
    method: 'PUT',
    path: upload,
    when: ['uploadType', 'resumable'],
    query: chunkQuery,
    writes: true,
    run: (call) => call.sessions.receive(call),
  },
  {
    name: 'CancelResumable',
    method: 'DELETE',
    path: upload,
    when: ['uploadType', 'resumable'],
    query: chunkQuery,
    writes: true,
    run: (call) => call.sessions.cancel(call),
  },
];
