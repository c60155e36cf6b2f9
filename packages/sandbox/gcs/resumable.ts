import { randomBytes } from 'node:crypto';
import { type Piece, readPieces } from '../objects/contents.ts';
import type { Call, Reply, ResumableUploads } from './call.ts';
import { GcsError } from './errors.ts';
import type { SessionStart } from './model.ts';
import { objectResource } from './resources.ts';
import { checkDigests, claimedDigests, damage, placeObject, startDigests } from './write-object.ts';

/** Every chunk but the last is a multiple of this. */
const chunkUnitBytes = 256 * 1024;
const sessionsMax = 10_000;

interface Session extends SessionStart {
  pieces: Piece[];
  receivedBytes: number;
  isBusy: boolean;
  finished: unknown;
}

/** The contents of a chunk's Content-Range header. */
interface ChunkRange {
  isQuery: boolean;
  start: number;
  /** Exclusive; undefined when the chunk runs to the end of the request. */
  end: number | undefined;
  totalBytes: number | undefined;
}

/** Open uploads. They live as long as the process: after a restart, as after their expiry, a client begins again. */
export class ResumableSessions implements ResumableUploads {
  readonly #sessions = new Map<string, Session>();

  start(start: SessionStart): string {
    if (this.#sessions.size >= sessionsMax) throw new GcsError('backendError', 'Too many uploads are under way.');
    const uploadId = randomBytes(24).toString('base64url');
    this.#sessions.set(uploadId, { ...start, pieces: [], receivedBytes: 0, isBusy: false, finished: undefined });
    return uploadId;
  }

  async receive(call: Call): Promise<Reply> {
    const session = this.#find(call);
    const range = parseContentRange(call.headers['content-range'], session);
    if (session.finished !== undefined) return { status: 200, json: session.finished };
    if (session.isBusy)
      throw new GcsError('uploadBrokenConnection', 'Another chunk of this upload is still being received.');
    if (range.isQuery && range.totalBytes !== session.receivedBytes) return incomplete(session);
    session.isBusy = true;
    try {
      if (!range.isQuery) await takeChunk(call, session, range);
      const total = range.totalBytes ?? session.totalBytes;
      const isLast = total === undefined ? range.end === undefined : session.receivedBytes >= total;
      return isLast ? await finish(call, session) : incomplete(session);
    } finally {
      session.isBusy = false;
    }
  }

  async cancel(call: Call): Promise<Reply> {
    const session = this.#find(call);
    if (session.finished === undefined) call.state.releaseAll(session.pieces);
    this.#sessions.delete(call.query.get('upload_id') ?? '');
    throw new GcsError('uploadCancelled', 'The upload was cancelled.');
  }

  #find(call: Call): Session {
    const session = this.#sessions.get(call.query.get('upload_id') ?? '');
    if (!session || session.bucketName !== call.names[0]) throw new GcsError('notFound', 'No such upload.');
    return session;
  }
}

function incomplete(session: Session): Reply {
  const { receivedBytes } = session;
  return { status: 308, headers: receivedBytes > 0 ? { range: `bytes=0-${receivedBytes - 1}` } : {} };
}

function parseContentRange(header: string | undefined, session: Session): ChunkRange {
  if (header === undefined) return { isQuery: false, start: 0, end: undefined, totalBytes: session.totalBytes };
  const match = /^bytes (?:\*|(\d{1,15})-(\d{1,15}|\*))\/(\d{1,15}|\*)$/.exec(header);
  if (!match) throw new GcsError('invalid', `Failed to parse Content-Range header: ${header}`);
  const [, start, last, total] = match;
  const totalBytes = total === '*' ? undefined : Number(total);
  if (totalBytes !== undefined && session.totalBytes !== undefined && totalBytes !== session.totalBytes)
    throw new GcsError('invalid', 'The total size is not the one announced before.');
  const end = last === undefined || last === '*' ? undefined : Number(last) + 1;
  return { isQuery: start === undefined, start: Number(start ?? 0), end, totalBytes };
}

/** Takes a chunk that begins where the last one ended. An interrupted one is dropped as a whole. */
async function takeChunk(call: Call, session: Session, range: ChunkRange): Promise<void> {
  if (range.start !== session.receivedBytes)
    throw new GcsError(
      'invalid',
      `The chunk begins at ${range.start}, but ${session.receivedBytes} bytes were received.`,
    );
  const isLast = range.end === undefined || range.end === (range.totalBytes ?? session.totalBytes);
  if (!isLast && range.end! % chunkUnitBytes !== 0)
    throw new GcsError('invalid', `Every chunk but the last must be a multiple of ${chunkUnitBytes} bytes.`);
  const damageAt = call.corruptAt === undefined ? undefined : Math.floor(call.corruptAt * 1000);
  const writer = call.state.contents.create();
  let size = 0;
  try {
    for await (const chunk of call.request as AsyncIterable<Buffer>) {
      const pending = writer.write(damageAt === undefined ? chunk : damage(chunk, size, damageAt));
      if (pending) await pending;
      size += chunk.length;
    }
    const expected = range.end === undefined ? undefined : range.end - range.start;
    if (expected !== undefined && size !== expected)
      throw new GcsError('invalid', `The chunk has ${size} bytes, but its range says ${expected}.`);
    const total = range.totalBytes ?? session.totalBytes;
    if (total !== undefined && session.receivedBytes + size > total)
      throw new GcsError('invalid', 'More bytes were received than announced.');
  } catch (error) {
    await writer.abort();
    throw error;
  }
  session.pieces.push(await writer.finish());
  session.receivedBytes += size;
  const claimed = claimedDigests(call.headers);
  session.claimed = { md5: claimed.md5 ?? session.claimed.md5, crc32c: claimed.crc32c ?? session.claimed.crc32c };
}

async function finish(call: Call, session: Session): Promise<Reply> {
  const { state } = call;
  const bucket = state.bucket(session.bucketName);
  const digests = startDigests();
  for await (const bytes of readPieces(state.contents, session.pieces, 0, session.receivedBytes)) {
    digests.md5.update(bytes);
    digests.crc32c.update(bytes);
  }
  const actual = { md5: digests.md5.digest().toString('base64'), crc32c: digests.crc32c.digest().toString('base64') };
  try {
    checkDigests(session.claimed, actual);
  } catch (error) {
    // The data was changed on the way, so none of it can be trusted: the upload begins again.
    state.releaseAll(session.pieces);
    session.pieces = [];
    session.receivedBytes = 0;
    throw error;
  }
  const { name, settings, pieces, receivedBytes: size } = session;
  session.pieces = [];
  session.receivedBytes = 0;
  const placed = await placeObject(state, bucket, session.query, { name, pieces, size, ...actual, settings });
  session.finished = objectResource(placed, bucket.settings, call.baseUrl);
  return { status: 200, json: session.finished };
}
