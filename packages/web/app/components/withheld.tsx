import { Lock } from 'lucide-react';
import type { ReactNode } from 'react';

/** An address led to something that is not for this role: what is shown instead would read as if the link were broken. */
export function Withheld({ children }: { children: ReactNode }) {
  return (
    <p role="status" className="flex gap-2 rounded-control bg-sunken px-3 py-2 text-table">
      <Lock size={15} aria-hidden className="mt-0.5 shrink-0 text-ink3" />
      {children}
    </p>
  );
}
