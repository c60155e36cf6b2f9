import type { DataOf, Operations } from '@holdfast/contract';
import { Check, CircleCheck, CircleX, X } from 'lucide-react';
import { Time } from '../../components/time.tsx';
import { formatDuration } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';

type StorageTest = DataOf<Operations['testStorageDestination']>;

interface TestStepsProps {
  test: Pick<StorageTest, 'ok' | 'steps'>;
  /** The time of an earlier test. */
  at?: string;
  /** The test was started just now. */
  isNew?: boolean;
}

/** The steps of a test with their times; a failed one says what to change. */
export function TestSteps({ test, at, isNew }: TestStepsProps) {
  const totalMs = test.steps.reduce((sum, step) => sum + step.durationMs, 0);
  const Icon = test.ok ? CircleCheck : CircleX;
  return (
    <div
      {...(isNew ? { role: 'status' } : {})}
      className={`rounded-control border px-4 py-3 ${test.ok ? (isNew ? 'border-held-mark bg-held-weak' : 'border-line') : 'border-fail bg-fail-weak'}`}
    >
      <p className="flex flex-wrap items-center gap-2 text-table font-semibold">
        <Icon size={17} aria-hidden className={test.ok ? 'text-held' : 'text-fail'} />
        {test.ok ? t.storage.testGood : t.storage.testBad}
        <span className="ml-auto font-normal text-ink2">
          {at && (
            <>
              {t.storage.tested} <Time at={at} as="age" />
              {', '}
            </>
          )}
          {t.storage.inAll(formatDuration(totalMs))}
        </span>
      </p>
      <ul className="mt-1.5 flex flex-wrap gap-x-4 gap-y-1 pl-6 text-table">
        {test.steps.map((step) => (
          <li key={step.name} className="inline-flex items-center gap-1.5">
            {step.ok ? (
              <Check size={14} aria-hidden className="text-held" />
            ) : (
              <X size={14} aria-hidden className="text-fail" />
            )}
            {t.storage.steps[step.name] ?? step.name}{' '}
            <span className="text-ink2">{formatDuration(step.durationMs)}</span>
          </li>
        ))}
      </ul>
      {test.steps
        .filter(({ error }) => error)
        .map((step) => (
          <p key={step.name} className="mt-2 pl-6 text-table break-words">
            <span className="font-medium">{t.storage.steps[step.name] ?? step.name}:</span> {step.error}
          </p>
        ))}
    </div>
  );
}
