import { minuteMs } from '@holdfast/contract';
import { LifeBuoy } from 'lucide-react';
import { useRead } from '../api/calls.ts';
import { useCan, useWorkplace } from '../api/organization.tsx';
import { useTakeKit } from '../api/take-kit.ts';
import { Button } from '../components/button.tsx';
import { FormProblem } from '../components/states.tsx';
import { t } from '../texts/index.ts';

/** Pages of full height need to know the height of this bar. */
function tellHeight(bar: HTMLElement): () => void {
  const { style } = document.documentElement;
  const observer = new ResizeObserver(() => style.setProperty('--kit-bar-height', `${bar.offsetHeight}px`));
  observer.observe(bar);
  return () => {
    observer.disconnect();
    style.removeProperty('--kit-bar-height');
  };
}

/** A quiet reminder for the owner, until a recovery kit with the key in use has been taken. */
export function RecoveryKitBar() {
  const isOwner = useCan('owner');
  const { projectCount } = useWorkplace().organization;
  const organization = useRead('getOrganization', {}, { everyMs: minuteMs });
  const take = useTakeKit();
  // Without a project there is nothing to recover; undefined: the service has no recovery kits.
  if (!isOwner || projectCount === 0 || organization.data?.recoveryKitTakenAt !== null) return null;
  return (
    <section
      ref={tellHeight}
      aria-label={t.shell.kit.title}
      className="flex flex-wrap items-center gap-3 border-line border-b bg-bg px-7 py-2 text-table max-md:px-4"
    >
      <LifeBuoy size={16} aria-hidden className="shrink-0 text-held" />
      <p className="min-w-0 flex-1 text-ink2">
        <b className="font-medium text-ink">{t.shell.kit.title}</b>{' '}
        <span className="max-sm:hidden">{t.shell.kit.text}</span>
      </p>
      <FormProblem error={take.error} />
      <Button busy={take.isPending} onClick={() => take.mutate({})}>
        {t.shell.kit.take}
      </Button>
    </section>
  );
}
