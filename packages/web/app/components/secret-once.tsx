import { t } from '../texts/index.ts';
import { Button } from './button.tsx';
import { CopyButton } from './copy.tsx';
import { Dialog } from './dialog.tsx';
import { useSecretKept } from './leave-question.tsx';

interface SecretOnceProps {
  title: string;
  text: string;
  /** Null: the secret was created, but the answer that showed it was lost. */
  secret: string | null;
  /** What to do when the secret was lost. */
  lost: string;
  onClose: () => void;
}

/** A secret that is shown only once. It closes after it was copied, or after the person says they have it. */
export function SecretOnce({ title, text, secret, lost, onClose }: SecretOnceProps) {
  const { keep, letGo, close, question } = useSecretKept(secret !== null, onClose);
  return (
    <Dialog
      title={title}
      onClose={close}
      footer={
        <Button kind="primary" onClick={letGo}>
          {secret === null ? t.common.close : t.webhooks.done}
        </Button>
      }
    >
      {secret === null ? (
        <p role="alert" className="text-risk">
          {lost}
        </p>
      ) : (
        <>
          <p className="text-ink2">{text}</p>
          <p className="flex items-center gap-2 rounded-control border border-line bg-bg px-3 py-2">
            <code data-secret="" onCopy={keep} className="min-w-0 flex-1 break-all font-mono text-table">
              {secret}
            </code>
            <CopyButton text={secret} onCopied={keep} />
          </p>
        </>
      )}
      {question}
    </Dialog>
  );
}
