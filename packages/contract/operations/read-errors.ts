/** Whatever has to be read from storage can meet a missing key, damaged data or a bucket that is away. */
export const readErrors = [
  'DECRYPTION_ERROR',
  'INTEGRITY_ERROR',
  'STORAGE_UNAVAILABLE',
  'STORAGE_PERMISSION_DENIED',
  'STORAGE_CREDENTIALS_MISSING',
] as const;
