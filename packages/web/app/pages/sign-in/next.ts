const key = 'holdfast.next';

/** Where to go after signing in. Kept in the tab: the identity provider comes between. */
export function rememberNext(path: string): void {
  try {
    sessionStorage.setItem(key, path);
  } catch {
    // A browser that keeps nothing lands on the overview.
  }
}

/** Only paths of our own are followed. */
export function takeNext(): string | undefined {
  try {
    const path = sessionStorage.getItem(key) ?? '';
    sessionStorage.removeItem(key);
    return /^\/(?!\/)/.test(path) ? path : undefined;
  } catch {
    return undefined;
  }
}
