const key = 'holdfast.next';

/** Where to go after signing in. Kept in the tab, because the identity provider comes in between. */
export function rememberNext(path: string): void {
  try {
    sessionStorage.setItem(key, path);
  } catch {
    // Storage is blocked: the person lands on the overview.
  }
}

/** Only paths of this site are followed. */
export function takeNext(): string | undefined {
  try {
    const path = sessionStorage.getItem(key) ?? '';
    sessionStorage.removeItem(key);
    return /^\/(?!\/)/.test(path) ? path : undefined;
  } catch {
    return undefined;
  }
}
