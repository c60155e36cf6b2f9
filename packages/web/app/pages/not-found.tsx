import { Compass } from 'lucide-react';
import { LinkButton } from '../components/button.tsx';
import { Empty } from '../components/states.tsx';
import { t } from '../texts/index.ts';

export function NotFound() {
  return (
    <main className="mx-auto max-w-xl py-16">
      <h1 className="sr-only">{t.common.notThere}</h1>
      <Empty icon={Compass} title={t.common.notThere} action={<LinkButton to="/">{t.common.goToOverview}</LinkButton>}>
        {t.common.notThereHint}
      </Empty>
    </main>
  );
}
