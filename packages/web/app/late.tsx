import { HoldfastError } from '@holdfast/contract/client';
import { RotateCw } from 'lucide-react';
import { type ComponentType, lazy } from 'react';
import { Button } from './components/button.tsx';
import { Dialog } from './components/dialog.tsx';
import { t } from './texts/index.ts';

/** The error messages of Chromium, Firefox and Safari. */
const missing = /dynamically imported module|Importing a module script failed/;

/** A file of the dashboard is missing: a new version was deployed since this page was opened. */
export const isFileMissing = (error: unknown): boolean => error instanceof Error && missing.test(error.message);

const isAnswering = () =>
  fetch('/', { method: 'HEAD', cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );

/** Reloads the page, unless the service is down: then this page is better than the browser's error page. */
export async function loadAnew(): Promise<void> {
  if (await isAnswering()) window.location.reload();
}

/** A lazily loaded page. If its file is missing although the service answers, a new version was deployed. */
export function late<Part>(load: () => Promise<Part>): () => Promise<Part> {
  return () =>
    load().catch(async (error: unknown) => {
      if (!isFileMissing(error) || (await isAnswering())) throw error;
      throw new HoldfastError('NETWORK_ERROR', 'The page could not be loaded.', { status: 0, cause: error });
    });
}

/** A lazily loaded overlay. If its file is missing it says so, and the page with its input stays. */
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
