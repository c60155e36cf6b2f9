import type { ReactNode } from 'react';
import { useFocusWhenItComes } from './focus-page.ts';

/** The title of a page. It takes the focus after navigation, for keyboards and screen readers. */
export function PageHeading({ className, children }: { className: string; children: ReactNode }) {
  useFocusWhenItComes();
  return (
    <h1 tabIndex={-1} className={`outline-none ${className}`}>
      {children}
    </h1>
  );
}
