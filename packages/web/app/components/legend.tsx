import type { ReactNode } from 'react';

/** What the marks of a picture mean. */
export function Legend({ children }: { children: ReactNode }) {
  return <ul className="flex flex-wrap gap-x-5 gap-y-1 text-meta text-ink2">{children}</ul>;
}

interface LegendEntryProps {
  text: string;
  /** Size of the mark, as drawn in the chart. */
  width: number;
  height: number;
  children: ReactNode;
}

export function LegendEntry({ text, width, height, children }: LegendEntryProps) {
  return (
    <li className="inline-flex items-center gap-1.5">
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
        {children}
      </svg>
      {text}
    </li>
  );
}
