import type { ReactNode } from 'react';

export function Key({ children }: { children: ReactNode }) {
  return (
    <kbd className="inline-flex min-w-5 items-center justify-center rounded-tag border border-line bg-bg px-1 font-sans text-[11px] leading-4 text-ink2">
      {children}
    </kbd>
  );
}
