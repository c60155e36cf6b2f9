import { Lock } from 'lucide-react';
import type { ReactNode } from 'react';

/** Shown when a link leads to something this role may not do; otherwise the link would look broken. */
export function NotForRole({ children }: { children: ReactNode }) {
  return (
    <p role="status" className="flex gap-2 rounded-control bg-sunken px-3 py-2 text-table">
      <Lock size={15} aria-hidden className="mt-0.5 shrink-0 text-ink3" />
      {children}
    </p>
  );
}
