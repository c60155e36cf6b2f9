import { useSyncExternalStore } from 'react';

const key = 'holdfast.theme';
const listeners = new Set<() => void>();

function isDark(): boolean {
  return document.documentElement.classList.contains('dark');
}

function show(dark: boolean): void {
  document.documentElement.classList.toggle('dark', dark);
  for (const listener of listeners) listener();
}

export function toggleTheme(): void {
  const dark = !isDark();
  try {
    localStorage.setItem(key, dark ? 'dark' : 'light');
  } catch {
    // Storage is blocked: the choice lasts as long as the page.
  }
  show(dark);
}

function isChosen(): boolean {
  try {
    return localStorage.getItem(key) !== null;
  } catch {
    return false;
  }
}

/** Without a choice the theme follows the system, also when that changes. */
export function followSystemTheme(): void {
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', ({ matches }) => {
    if (!isChosen()) show(matches);
  });
}

export function useIsDark(): boolean {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, isDark);
}
