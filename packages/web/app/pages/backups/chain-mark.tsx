import type { Backup } from '@holdfast/contract';
import { isSafety } from './shared.tsx';

interface ChainMarkProps {
  backup: Backup;
  /** Whether a line leads up to a younger backup of the chain. */
  up: boolean;
  down: boolean;
}

/** Block = full, ring = increment on the line of those below it, framed block = synthetic, diamond = safety, cross = failed. */
export function ChainMark({ backup, up, down }: ChainMarkProps) {
  // Failed and safety backups are no part of the chain: its line passes beside them.
  const isBeside = up && down && (backup.status !== 'completed' || isSafety(backup));
  return (
    <svg width="20" height="37" viewBox="0 0 20 37" aria-hidden="true" className="-my-1 block">
      {up && <path d={isBeside ? 'M10 0V37' : 'M10 0V14'} className="stroke-held-mark" strokeWidth="2" />}
      {down && !isBeside && <path d="M10 23V37" className="stroke-held-mark" strokeWidth="2" />}
      <g transform={isBeside ? 'translate(6 0)' : undefined}>
        <Shape backup={backup} />
      </g>
    </svg>
  );
}

function Shape({ backup }: { backup: Backup }) {
  if (backup.status === 'failed' || backup.status === 'cancelled')
    return <path d="M7 15.5l6 6m0-6l-6 6" className="stroke-fail-mark" strokeWidth="2" />;
  if (backup.status !== 'completed')
    return (
      <rect
        x="7"
        y="12"
        width="6"
        height="13"
        rx="2"
        fill="none"
        className="stroke-move"
        strokeWidth="1.5"
        strokeDasharray="2.5 2"
      />
    );
  if (isSafety(backup))
    return <path d="M10 14l4.5 4.5L10 23l-4.5-4.5z" fill="none" className="stroke-ink2" strokeWidth="1.8" />;
  if (backup.type === 'incremental')
    return <circle cx="10" cy="18.5" r="4" className="fill-surface stroke-held-mark" strokeWidth="2" />;
  if (backup.type === 'synthetic')
    return (
      <>
        <rect x="6.5" y="12" width="7" height="13" rx="2" className="fill-surface stroke-held" strokeWidth="1.8" />
        <path d="M7 16.3h6M7 20.7h6" className="stroke-held" strokeWidth="1.6" />
      </>
    );
  return <rect x="6.5" y="12" width="7" height="13" rx="2" className="fill-held" />;
}
