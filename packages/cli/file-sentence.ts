const reasons: Readonly<Record<string, string>> = {
  EEXIST: 'is there already; it is never written over',
  ENOENT: 'is not there',
  EACCES: 'is not yours to use',
  EPERM: 'is not yours to use',
  EISDIR: 'is a folder',
  ENOTDIR: 'lies below something that is no folder',
  ENOSPC: 'does not fit: the disk is full',
  EROFS: 'lies on a disk that cannot be written',
};

/** A system error about a file, in words. */
export function fileSentence(path: string, code: string): string {
  return `The file ${path} ${reasons[code] ?? `cannot be used (${code})`}.`;
}
