import { useEffect, useRef } from 'react';
import { t } from '../texts/index.ts';
import { announce } from './announcer.tsx';

interface ProgressProps {
  percent: number;
  /** Names the work, for screen readers. */
  label: string;
  tall?: boolean;
}

/** Never jumps back; announces each 10 % to screen readers. */
export function ProgressBar({ percent, label, tall }: ProgressProps) {
  const highest = useRef(0);
  highest.current = Math.max(highest.current, Math.min(100, percent));
  const shown = highest.current;
  const tenth = Math.floor(shown / 10) * 10;
  useEffect(() => announce(t.jobs.progress(label, tenth)), [label, tenth]);
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={tenth}
      className={`w-full overflow-hidden rounded-full bg-sunken ${tall ? 'h-2.5' : 'h-1.5'}`}
    >
      <div
        className="h-full rounded-full bg-move transition-[width] duration-300 ease-linear"
        style={{ width: `${shown}%` }}
      />
    </div>
  );
}
