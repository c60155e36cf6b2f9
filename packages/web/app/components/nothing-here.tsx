import { Compass } from 'lucide-react';
import { t } from '../texts/index.ts';
import { LinkButton } from './button.tsx';
import { Empty } from './states.tsx';

export function NothingHere() {
  return (
    <div className="mx-auto max-w-xl py-16">
      <h1 className="sr-only">{t.common.notThere}</h1>
      <Empty icon={Compass} title={t.common.notThere} action={<LinkButton to="/">{t.common.goToOverview}</LinkButton>}>
        {t.common.notThereHint}
      </Empty>
    </div>
  );
}

/** Shown outside any organization, or in one the person is no member of. */
export function NothingHereAlone() {
  return (
    <main>
      <NothingHere />
    </main>
  );
}
