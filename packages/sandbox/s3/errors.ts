import { element, type XmlNode } from './xml.ts';

/** Every code this server can answer, with the status and the sentence that S3 gives. */
const catalogue = {
  AccessControlListNotSupported: [400, 'The bucket does not allow ACLs'],
  AccessDenied: [403, 'Access Denied'],
  AuthorizationHeaderMalformed: [400, 'The authorization header is malformed.'],
  AuthorizationQueryParametersError: [400, 'Error parsing the X-Amz-Credential parameter.'],
  BadDigest: [400, 'The Content-MD5 you specified did not match what we received.'],
  BucketAlreadyExists: [409, 'The requested bucket name is not available.'],
  BucketAlreadyOwnedByYou: [409, 'Your previous request to create the named bucket succeeded and you already own it.'],
  BucketNotEmpty: [409, 'The bucket you tried to delete is not empty'],
  EntityTooLarge: [400, 'Your proposed upload exceeds the maximum allowed size'],
  EntityTooSmall: [400, 'Your proposed upload is smaller than the minimum allowed size'],
  IllegalLocationConstraintException: [
    400,
    'The specified location constraint is incompatible for the region specific endpoint this request was sent to.',
  ],
  IncompleteBody: [400, 'The request body terminated unexpectedly'],
  InternalError: [500, 'We encountered an internal error. Please try again.'],
  InvalidAccessKeyId: [403, 'The AWS Access Key Id you provided does not exist in our records.'],
  InvalidArgument: [400, 'Invalid Argument'],
  InvalidBucketName: [400, 'The specified bucket is not valid.'],
  InvalidBucketState: [409, 'The request is not valid with the current state of the bucket.'],
  InvalidChunkSizeError: [403, 'Only the last chunk is allowed to have a size less than 8192 bytes'],
  InvalidDigest: [400, 'The Content-MD5 you specified was invalid.'],
  InvalidPart: [
    400,
    "One or more of the specified parts could not be found. The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.",
  ],
  InvalidPartNumber: [416, 'The requested partnumber is not satisfiable'],
  InvalidPartOrder: [400, 'The list of parts was not in ascending order. Parts must be ordered by part number.'],
  InvalidRange: [416, 'The requested range is not satisfiable'],
  InvalidRequest: [400, 'Invalid Request'],
  InvalidToken: [400, 'The provided token is malformed or otherwise invalid.'],
  InvalidURI: [400, "Couldn't parse the specified URI."],
  KeyTooLongError: [400, 'Your key is too long'],
  MalformedTrailerError: [400, 'The request contained trailing data that was not well-formed.'],
  MalformedXML: [400, 'The XML you provided was not well-formed or did not validate against our published schema'],
  MaxMessageLengthExceeded: [400, 'Your request was too big.'],
  MetadataTooLarge: [400, 'Your metadata headers exceed the maximum allowed metadata size'],
  MethodNotAllowed: [405, 'The specified method is not allowed against this resource.'],
  MissingContentLength: [411, 'You must provide the Content-Length HTTP header.'],
  NoSuchBucket: [404, 'The specified bucket does not exist'],
  NoSuchKey: [404, 'The specified key does not exist.'],
  NoSuchObjectLockConfiguration: [404, 'The specified object does not have a ObjectLock configuration'],
  NoSuchUpload: [
    404,
    'The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.',
  ],
  NoSuchVersion: [404, 'The specified version does not exist.'],
  NotImplemented: [501, 'A header you provided implies functionality that is not implemented'],
  NotModified: [304, 'Not Modified'],
  ObjectLockConfigurationNotFoundError: [404, 'Object Lock configuration does not exist for this bucket'],
  OperationAborted: [
    409,
    'A conflicting conditional operation is currently in progress against this resource. Please try again.',
  ],
  PreconditionFailed: [412, 'At least one of the pre-conditions you specified did not hold'],
  RequestTimeTooSkewed: [403, 'The difference between the request time and the current time is too large.'],
  SignatureDoesNotMatch: [
    403,
    'The request signature we calculated does not match the signature you provided. Check your key and signing method.',
  ],
  SlowDown: [503, 'Please reduce your request rate.'],
  XAmzContentSHA256Mismatch: [400, "The provided 'x-amz-content-sha256' header does not match what was computed."],
} as const satisfies Record<string, readonly [number, string]>;

export type S3ErrorCode = keyof typeof catalogue;

export class S3Error extends Error {
  readonly code: S3ErrorCode;
  readonly status: number;
  /** Further elements of the error document, such as the part that was too small. */
  readonly details: Record<string, string>;
  readonly headers: Record<string, string>;

  constructor(
    code: S3ErrorCode,
    message?: string,
    details: Record<string, string> = {},
    headers: Record<string, string> = {},
  ) {
    super(message ?? catalogue[code][1]);
    this.name = 'S3Error';
    this.code = code;
    this.status = catalogue[code][0];
    this.details = details;
    this.headers = headers;
  }
}

export function errorDocument(error: S3Error, resource: string, requestId: string): XmlNode {
  return element('Error', [
    element('Code', error.code),
    element('Message', error.message),
    ...Object.entries(error.details).map(([name, value]) => element(name, value)),
    element('Resource', resource),
    element('RequestId', requestId),
    element('HostId', 'sandbox'),
  ]);
}

/** The answer to everything this server does not support: never a silent success. */
export function notImplemented(what: string): S3Error {
  return new S3Error('NotImplemented', `${what} is not implemented by this sandbox`);
}
