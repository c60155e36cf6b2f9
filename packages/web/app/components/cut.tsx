import type { ReactNode } from 'react';

/** A name of any length and script on one line; the whole name on hover. */
export function Cut({ text, className = '', children }: { text: string; className?: string; children?: ReactNode }) {
  return (
    <span className={`block max-w-56 truncate ${className}`} title={text} dir="auto">
      {children ?? text}
    </span>
  );
}
