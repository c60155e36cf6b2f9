import type { ReactNode } from 'react';

/** A name that people chose, however long and in whatever script: on one line, whole on hover. */
export function Cut({ text, className = '', children }: { text: string; className?: string; children?: ReactNode }) {
  return (
    <span className={`block max-w-56 truncate ${className}`} title={text} dir="auto">
      {children ?? text}
    </span>
  );
}
