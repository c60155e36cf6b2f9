import type { ErrorComponentProps } from '@tanstack/react-router';
import { RefreshCw } from 'lucide-react';
import { Empty, Problem } from '../components/states.tsx';
import { isFileMissing, LoadAnew, loadAnew } from '../late.tsx';
import { t } from '../texts/index.ts';

/** Shown when a page has crashed. If its file was missing, the router has reloaded once already. */
export function PageProblem({ error }: ErrorComponentProps) {
  return (
    <main className="mx-auto max-w-2xl py-16">
      {isFileMissing(error) ? (
        <Empty icon={RefreshCw} title={t.common.fileMissing.title} action={<LoadAnew />}>
          {t.common.fileMissing.text}
        </Empty>
      ) : (
        <Problem error={error instanceof Error ? error : new Error(String(error))} onRetry={() => void loadAnew()} />
      )}
    </main>
  );
}
