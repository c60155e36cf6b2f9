const key = 'holdfast.organization';

export function lastSlug(): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function rememberSlug(slug: string): void {
  try {
    localStorage.setItem(key, slug);
  } catch {
    // Storage is blocked: it is just not remembered.
  }
}
