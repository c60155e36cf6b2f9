import type { ErrorComponentProps } from '@tanstack/react-router';
import { RefreshCw } from 'lucide-react';
import { Empty, Problem } from '../components/states.tsx';
import { isFileMissing, LoadAnew, loadAnew } from '../late.tsx';
import { t } from '../texts/index.ts';

/** What a page shows instead of itself when it broke. The router has loaded it anew once already where its file was missing. */
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
