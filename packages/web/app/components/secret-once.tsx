import { t } from '../texts/index.ts';
import { Button } from './button.tsx';
import { CopyButton } from './copy.tsx';
import { Dialog } from './dialog.tsx';
import { useSecretKept } from './leave-question.tsx';

interface SecretOnceProps {
  title: string;
  text: string;
  /** Null: it was made, and got lost with the answer that showed it. */
  secret: string | null;
  /** What to do then. */
  lost: string;
  onClose: () => void;
}

/** What is shown once and never again: it goes when it was copied, or when somebody says that they have it. */
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
