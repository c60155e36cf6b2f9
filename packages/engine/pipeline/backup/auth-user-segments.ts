import type { SegmentDescriptor } from '../../format/descriptor.ts';
import type { ManifestBody } from '../../format/manifest-body.ts';
import { segmentKey } from '../../format/object-keys.ts';
import { utf8 } from '../../format/path-bytes.ts';
import type { SealContext } from '../../format/segment.ts';
import { segmentContent } from '../../format/segment-header.ts';
import type { AuthUser, AuthUserBatch, AuthUserSource } from '../../ports/auth-users.ts';
import type { BlobStore, PutOptions } from '../../ports/blob-store.ts';
import { EngineError } from '../../ports/errors.ts';
import { type RecordLocation, readRecordAt, recordKind } from '../../ports/record.ts';
import type { BufferPool } from '../segments/buffer-pool.ts';
import { RecordBatchBuilder } from '../segments/record-batch-builder.ts';
import type { SegmentCodec } from '../segments/segment-codec.ts';
import { fullSegmentBytes, SegmentWriter } from '../segments/segment-writer.ts';
import type { BackupReader } from '../view/backup-reader.ts';

export interface BackUpUsersOptions {
  readonly store: BlobStore;
  readonly codec: SegmentCodec;
  readonly buffers: BufferPool;
  readonly context: SealContext;
  readonly lock?: NonNullable<PutOptions['lock']>;
  readonly signal?: AbortSignal;
}

export interface UserSection {
  readonly section: NonNullable<ManifestBody['authUsers']>;
  readonly warnings: readonly string[];
}

/** Every backup holds all users: they are few, and the accounts API does not report changes. */
export async function backUpUsers(source: AuthUserSource, options: BackUpUsersOptions): Promise<UserSection> {
  const { context, signal } = options;
  const call = signal ? { signal } : {};
  const hashConfiguration = await source.hashConfiguration(call);
  const segments: SegmentDescriptor[] = [];
  const writer = new SegmentWriter({
    ...options,
    content: segmentContent.authUsers,
    range: 0,
    firstSequence: 0,
    segmentBytes: fullSegmentBytes,
    keyOf: ({ id }) => segmentKey(context.ownerId, id),
    onSegment: ({ descriptor }) => void segments.push(descriptor),
  });
  let count = 0;
  try {
    const builder = new RecordBatchBuilder();
    for await (const { users } of source.users(call)) {
      for (const user of users) builder.add(recordKind.put, user.localId, Buffer.from(JSON.stringify(user), 'utf8'));
      count += users.length;
      if (builder.isFull) await writer.write(builder.take());
    }
    if (!builder.isEmpty) await writer.write(builder.take());
    await writer.finish();
  } catch (error) {
    await writer.abandon();
    throw error;
  }
  return {
    section: { count, hashConfiguration, segments },
    warnings: [
      ...redactionWarnings(hashConfiguration.passwordHashesRedacted),
      ...(source.tenantIds ? tenantWarnings(await source.tenantIds(call)) : []),
    ],
  };
}

function redactionWarnings(isRedacted: boolean): string[] {
  if (!isRedacted) return [];
  return [
    'PASSWORD_HASHES_REDACTED: The credentials may not read password hashes or how they are made (firebaseauth.configs.get, firebaseauth.configs.getHashConfig). Restored users would have no passwords.',
  ];
}

function tenantWarnings(tenantIds: readonly string[] | undefined): string[] {
  if (tenantIds === undefined)
    return [
      'AUTH_TENANTS_LEFT_OUT: The credentials may not list Identity Platform tenants (identitytoolkit.tenants.list). Users of tenants, if the project has any, are not in this backup.',
    ];
  if (tenantIds.length === 0) return [];
  return [
    `AUTH_TENANTS_LEFT_OUT: The project has ${tenantIds.length} Identity Platform tenants. Their users are not in this backup: ${tenantIds.slice(0, 20).join(', ')}.`,
  ];
}

/** The users of a backup, segment by segment, counted against the manifest. */
export async function* readUsers(backup: BackupReader, signal?: AbortSignal): AsyncGenerator<AuthUserBatch> {
  const section = backup.body.authUsers;
  let count = 0;
  for (const descriptor of section?.segments ?? []) {
    const { data } = await backup.read(descriptor, signal);
    const users = [...parseUsers(data)];
    count += users.length;
    yield { users };
  }
  if (count !== (section?.count ?? 0))
    throw new EngineError('INTEGRITY_ERROR', 'The backup holds another number of users than it says.');
}

function* parseUsers(data: Uint8Array): Generator<AuthUser> {
  const location: RecordLocation = { kind: recordKind.put, start: 0, bodyStart: 0, end: 0 };
  for (let position = 0; position < data.length; position = location.end) {
    if (!readRecordAt(data, position, location))
      throw new EngineError('INTEGRITY_ERROR', 'A user record is not whole.');
    yield JSON.parse(utf8(data, location.bodyStart, location.end)) as AuthUser;
  }
}
