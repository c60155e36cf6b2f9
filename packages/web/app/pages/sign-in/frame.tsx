import { type ReactNode, useEffect } from 'react';
import { Mark } from '../../components/brand.tsx';
import { t } from '../../texts/index.ts';

/** The frame of pages outside an organization. */
export function Frame({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · ${t.common.product}`;
  }, [title]);
  return (
    <div className="flex min-h-dvh flex-col items-center bg-bg px-4 py-[12vh]">
      <header className="mb-6 flex items-center gap-2.5">
        <Mark size={30} />
        <span className="text-page font-semibold">{t.common.product}</span>
      </header>
      <main className="flex w-full max-w-md flex-col gap-4 rounded-panel border border-line bg-surface p-6">
        <h1 className="text-page font-semibold">{title}</h1>
        {children}
      </main>
    </div>
  );
}
