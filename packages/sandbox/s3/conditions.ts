import { S3Error } from './errors.ts';
import type { ObjectVersion } from './model.ts';

type Headers = Readonly<Record<string, string | undefined>>;

/** Conditions of a read, in the order of precedence that HTTP gives them. */
export function checkReadConditions(headers: Headers, version: ObjectVersion, prefix = ''): void {
  const failed = (name: string) => new S3Error('PreconditionFailed', undefined, { Condition: name });
  const notModified = () =>
    prefix === ''
      ? new S3Error(
          'NotModified',
          undefined,
          {},
          { etag: version.etag, 'last-modified': httpDate(version.modifiedAtMs) },
        )
      : failed('x-amz-copy-source-If-None-Match');
  const ifMatch = headers[`${prefix}if-match`];
  const ifNoneMatch = headers[`${prefix}if-none-match`];
  const unmodifiedSince = dateHeader(headers, `${prefix}if-unmodified-since`);
  const modifiedSince = dateHeader(headers, `${prefix}if-modified-since`);
  const modifiedAt = Math.floor(version.modifiedAtMs / 1000) * 1000;
  if (ifMatch !== undefined) {
    if (!matches(ifMatch, version.etag)) throw failed('If-Match');
  } else if (unmodifiedSince !== undefined && modifiedAt > unmodifiedSince) throw failed('If-Unmodified-Since');
  if (ifNoneMatch !== undefined) {
    if (matches(ifNoneMatch, version.etag)) throw notModified();
  } else if (modifiedSince !== undefined && modifiedAt <= modifiedSince) throw notModified();
}

/** Conditions of a write, checked in the same step in which it takes effect. */
export function checkWriteConditions(headers: Headers, current: ObjectVersion | undefined): void {
  const exists = current !== undefined && !current.isDeleteMarker;
  const ifNoneMatch = headers['if-none-match'];
  const ifMatch = headers['if-match'];
  if (ifNoneMatch !== undefined && ifNoneMatch !== '*')
    throw new S3Error('NotImplemented', undefined, { Header: 'If-None-Match' });
  if (ifNoneMatch !== undefined && ifMatch !== undefined)
    throw new S3Error('InvalidRequest', 'If-Match and If-None-Match cannot be given together.');
  if (ifNoneMatch === '*' && exists) throw new S3Error('PreconditionFailed', undefined, { Condition: 'If-None-Match' });
  if (ifMatch !== undefined) {
    if (!exists) throw new S3Error('NoSuchKey');
    if (!matches(ifMatch, current.etag)) throw new S3Error('PreconditionFailed', undefined, { Condition: 'If-Match' });
  }
}

function matches(header: string, etag: string): boolean {
  const bare = (text: string) => text.trim().replace(/^(W\/)?"?|"$/g, '');
  return header.split(',').some((one) => one.trim() === '*' || bare(one) === bare(etag));
}

function dateHeader(headers: Headers, name: string): number | undefined {
  const parsed = Date.parse(headers[name] ?? '');
  return Number.isNaN(parsed) ? undefined : parsed;
}

export function httpDate(timeMs: number): string {
  return new Date(timeMs).toUTCString();
}
