import type { ReactNode } from 'react';
import { useFocusWhenItComes } from './focus-page.ts';

/** The title of a page inside the shell: where who comes to it by keys or by ear begins. */
export function PageHeading({ className, children }: { className: string; children: ReactNode }) {
  useFocusWhenItComes();
  return (
    <h1 tabIndex={-1} className={`outline-none ${className}`}>
      {children}
    </h1>
  );
}
