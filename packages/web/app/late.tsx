import { HoldfastError } from '@holdfast/contract/client';
import { RotateCw } from 'lucide-react';
import { type ComponentType, lazy } from 'react';
import { Button } from './components/button.tsx';
import { Dialog } from './components/dialog.tsx';
import { t } from './texts/index.ts';

/** In the words of Chromium, Firefox and Safari. */
const missing = /dynamically imported module|Importing a module script failed/;

/** A file of the dashboard was not there: a new version has replaced it since this page was opened. */
export const isFileMissing = (error: unknown): boolean => error instanceof Error && missing.test(error.message);

const isAnswering = () =>
  fetch('/', { method: 'HEAD', cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );

/** Loads the page anew; while nobody answers, what is here is better than what the browser would show instead. */
export async function loadAnew(): Promise<void> {
  if (await isAnswering()) window.location.reload();
}

/** A part of the dashboard that is loaded when it is needed. One that is missing is no matter of the network if the service answers. */
export function late<Part>(load: () => Promise<Part>): () => Promise<Part> {
  return () =>
    load().catch(async (error: unknown) => {
      if (!isFileMissing(error) || (await isAnswering())) throw error;
      throw new HoldfastError('NETWORK_ERROR', 'The page could not be loaded.', { status: 0, cause: error });
    });
}

/** Something over the page. Where its file is missing it says so, and the page with what was typed stays. */
export const lateOverlay = <Props extends { onClose: () => void }>(load: () => Promise<ComponentType<Props>>) =>
  lazy(async (): Promise<{ default: ComponentType<Props> }> => ({ default: await load().catch(() => MissingOverlay) }));

function MissingOverlay({ onClose }: { onClose: () => void }) {
  return (
    <Dialog
      title={t.common.fileMissing.title}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t.common.close}</Button>
          <LoadAnew />
        </>
      }
    >
      <p>{t.common.fileMissing.text}</p>
      <p>{t.common.fileMissing.unsaved}</p>
    </Dialog>
  );
}

export function LoadAnew() {
  return (
    <Button kind="primary" icon={RotateCw} onClick={() => void loadAnew()}>
      {t.common.fileMissing.action}
    </Button>
  );
}
