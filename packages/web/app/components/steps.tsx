import { Check, LoaderCircle, X } from 'lucide-react';
import type { ReactNode } from 'react';

export type StepState = 'done' | 'current' | 'running' | 'todo' | 'failed';

interface StepProps {
  state: StepState;
  number?: number;
  isLast?: boolean;
  children: ReactNode;
  className?: string;
}

const looks: Record<StepState, string> = {
  done: 'bg-held border-held text-surface',
  current: 'border-held text-held bg-surface',
  running: 'border-move text-move bg-surface',
  todo: 'border-control text-ink3 bg-surface',
  failed: 'bg-fail border-fail text-surface',
};

/** One step of a vertical list of steps. */
export function Step({ state, number, isLast, children, className = '' }: StepProps) {
  return (
    <li
      aria-current={state === 'current' || state === 'running' ? 'step' : undefined}
      className={`relative flex gap-4 ${className}`}
    >
      {!isLast && (
        <span
          aria-hidden="true"
          className={`absolute top-6 bottom-0 left-[11px] w-0.5 ${state === 'done' ? 'bg-held-mark' : 'bg-line'}`}
        />
      )}
      <span
        aria-hidden="true"
        className={`z-10 mt-px inline-flex size-6 shrink-0 items-center justify-center rounded-full border-2 text-meta font-semibold ${looks[state]}`}
      >
        {state === 'done' && <Check size={14} />}
        {state === 'failed' && <X size={14} />}
        {state === 'running' && <LoaderCircle size={14} className="turning" />}
        {(state === 'current' || state === 'todo') && number}
      </span>
      <div className="min-w-0 flex-1 wrap-anywhere">{children}</div>
    </li>
  );
}
