import type { ErrorComponentProps } from '@tanstack/react-router';
import { Problem } from '../components/states.tsx';

/** What a page shows instead of itself when it broke. A new version may have replaced its files meanwhile. */
export function PageProblem({ error }: ErrorComponentProps) {
  return (
    <main className="mx-auto max-w-2xl py-16">
      <Problem
        error={error instanceof Error ? error : new Error(String(error))}
        onRetry={() => window.location.reload()}
      />
    </main>
  );
}
