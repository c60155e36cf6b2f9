import { bucketOf, type Call, documentOf, type Operation, type Reply } from '../call.ts';
import { S3Error } from '../errors.ts';
import { checkRetentionChange, parseRetention } from '../lock.ts';
import type { LockMode, ObjectVersion } from '../model.ts';
import { childText, element, type XmlNode } from '../xml.ts';
import { findVersion } from './objects.ts';

async function getConfiguration(call: Call): Promise<Reply> {
  const { objectLock, defaultRetention } = bucketOf(call).settings;
  if (!objectLock)
    throw new S3Error('ObjectLockConfigurationNotFoundError', undefined, { BucketName: call.bucketName });
  const rule = defaultRetention && [
    element('Mode', defaultRetention.mode),
    defaultRetention.years ? element('Years', defaultRetention.years) : element('Days', defaultRetention.days ?? 0),
  ];
  return {
    status: 200,
    xml: element('ObjectLockConfiguration', [
      element('ObjectLockEnabled', 'Enabled'),
      ...(rule ? [element('Rule', [element('DefaultRetention', rule)])] : []),
    ]),
  };
}

async function putConfiguration(call: Call): Promise<Reply> {
  const { settings } = bucketOf(call);
  const { root } = await documentOf(call, 'ObjectLockConfiguration');
  if (childText(root, 'ObjectLockEnabled') !== 'Enabled') throw new S3Error('MalformedXML');
  if (settings.versioning !== 'Enabled')
    throw new S3Error(
      'InvalidBucketState',
      "Versioning must be 'Enabled' on the bucket to apply a Object Lock configuration",
    );
  const { defaultRetention: _, ...rest } = settings;
  const rule = root.children.find((child) => child.name === 'Rule');
  const defaultRetention = rule && parseRule(rule);
  await call.state.saveBucket({ ...rest, objectLock: true, ...(defaultRetention && { defaultRetention }) });
  return { status: 200 };
}

function parseRule(rule: XmlNode): { mode: LockMode; days?: number; years?: number } {
  const retention = rule.children.find((child) => child.name === 'DefaultRetention');
  const mode = retention && childText(retention, 'Mode');
  const days = retention && childText(retention, 'Days');
  const years = retention && childText(retention, 'Years');
  if ((mode !== 'GOVERNANCE' && mode !== 'COMPLIANCE') || (days === undefined) === (years === undefined))
    throw new S3Error('MalformedXML');
  const amount = Number(days ?? years);
  if (!Number.isInteger(amount) || amount < 1 || amount > (days === undefined ? 100 : 36_500))
    throw new S3Error('InvalidArgument', 'Default retention period must be a positive integer value.');
  return days === undefined ? { mode, years: amount } : { mode, days: amount };
}

function lockableVersion(call: Call): ObjectVersion {
  const bucket = bucketOf(call);
  if (!bucket.settings.objectLock) throw new S3Error('InvalidRequest', 'Bucket is missing Object Lock Configuration');
  return findVersion(bucket, call.key, call.query.get('versionId'));
}

async function getRetention(call: Call): Promise<Reply> {
  const { retention } = lockableVersion(call);
  if (!retention) throw new S3Error('NoSuchObjectLockConfiguration');
  return {
    status: 200,
    xml: element('Retention', [
      element('Mode', retention.mode),
      element('RetainUntilDate', new Date(retention.untilMs).toISOString()),
    ]),
  };
}

async function putRetention(call: Call): Promise<Reply> {
  const { root } = await documentOf(call, 'Retention');
  const version = lockableVersion(call);
  const mode = childText(root, 'Mode');
  const until = childText(root, 'RetainUntilDate');
  if ((mode === undefined) !== (until === undefined)) throw new S3Error('MalformedXML');
  const next = mode === undefined ? undefined : parseRetention(mode, until!, call.state.now());
  const bypass = call.headers['x-amz-bypass-governance-retention']?.toLowerCase() === 'true';
  checkRetentionChange(version, next, bypass, call.state.now());
  if (next) version.retention = next;
  else delete version.retention;
  await call.state.updateVersion(bucketOf(call), version);
  return { status: 200 };
}

async function getLegalHold(call: Call): Promise<Reply> {
  const version = lockableVersion(call);
  return { status: 200, xml: element('LegalHold', [element('Status', version.legalHold ? 'ON' : 'OFF')]) };
}

async function putLegalHold(call: Call): Promise<Reply> {
  const { root } = await documentOf(call, 'LegalHold');
  const version = lockableVersion(call);
  const status = childText(root, 'Status');
  if (status !== 'ON' && status !== 'OFF') throw new S3Error('MalformedXML');
  version.legalHold = status === 'ON';
  await call.state.updateVersion(bucketOf(call), version);
  return { status: 200 };
}

const checksum = 'x-amz-checksum-*';
const version = ['versionId'];

export const lockOperations: Operation[] = [
  {
    name: 'GetObjectLockConfiguration',
    method: 'GET',
    level: 'bucket',
    marks: ['object-lock'],
    writes: false,
    run: getConfiguration,
  },
  {
    name: 'PutObjectLockConfiguration',
    method: 'PUT',
    level: 'bucket',
    marks: ['object-lock'],
    headers: [checksum],
    writes: true,
    run: putConfiguration,
  },
  {
    name: 'GetObjectRetention',
    method: 'GET',
    level: 'object',
    marks: ['retention'],
    query: version,
    writes: false,
    run: getRetention,
  },
  {
    name: 'PutObjectRetention',
    method: 'PUT',
    level: 'object',
    marks: ['retention'],
    query: version,
    headers: [checksum, 'x-amz-bypass-governance-retention'],
    writes: true,
    run: putRetention,
  },
  {
    name: 'GetObjectLegalHold',
    method: 'GET',
    level: 'object',
    marks: ['legal-hold'],
    query: version,
    writes: false,
    run: getLegalHold,
  },
  {
    name: 'PutObjectLegalHold',
    method: 'PUT',
    level: 'object',
    marks: ['legal-hold'],
    query: version,
    headers: [checksum],
    writes: true,
    run: putLegalHold,
  },
];
