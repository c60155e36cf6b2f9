import { useSyncExternalStore } from 'react';

const key = 'holdfast.theme';
const listeners = new Set<() => void>();

export function isDark(): boolean {
  return document.documentElement.classList.contains('dark');
}

export function toggleTheme(): void {
  const dark = !isDark();
  document.documentElement.classList.toggle('dark', dark);
  try {
    localStorage.setItem(key, dark ? 'dark' : 'light');
  } catch {
    // It lasts as long as the page.
  }
  for (const listener of listeners) listener();
}

export function useIsDark(): boolean {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, isDark);
}
