/** Reading from storage can fail with a missing key, damaged data or an unreachable bucket. */
export const readErrors = [
  'DECRYPTION_ERROR',
  'INTEGRITY_ERROR',
  'STORAGE_UNAVAILABLE',
  'STORAGE_PERMISSION_DENIED',
  'STORAGE_CREDENTIALS_MISSING',
] as const;
