import { FileKey } from 'lucide-react';
import { type DragEvent, useEffect, useId, useState } from 'react';
import { useFocusOnError } from '../../components/field.tsx';
import { t } from '../../texts/index.ts';

export interface ServiceAccountKey {
  readonly type: 'service_account';
  readonly project_id: string;
  readonly client_email: string;
  readonly private_key: string;
}

interface KeyDropProps {
  value: ServiceAccountKey | null;
  onChange: (key: ServiceAccountKey | null) => void;
  error?: string | undefined;
}

/** Takes a key file by drop or file dialog. It is read here and sent once; the browser stores nothing. */
export function KeyDrop({ value, onChange, error }: KeyDropProps) {
  const [fault, setFault] = useState<string>();
  const [isOver, setOver] = useState(false);
  const id = useId();
  const wrong = fault ?? error;
  const around = useFocusOnError<HTMLDivElement>(wrong);
  useNothingOpened();
  const read = async (file: File | undefined) => {
    if (!file) return;
    const { key, fault: found } = await readKey(file);
    setFault(found);
    onChange(key);
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void read(event.dataTransfer.files[0]);
  };
  return (
    <div ref={around} className="flex flex-col gap-1">
      <span id={id} className="text-table font-medium">
        {t.projects.keyFile}
      </span>
      <label
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={onDrop}
        className={`flex cursor-pointer items-center gap-3 rounded-control border border-dashed px-4 py-4 has-focus-visible:outline-2 has-focus-visible:outline-held ${isOver ? 'border-held bg-held-weak' : 'border-control bg-bg'}`}
      >
        <FileKey size={20} aria-hidden className="shrink-0 text-held" />
        <span id={`${id}-read`} className="min-w-0 text-table">
          {value ? (
            <span className="break-all">{t.projects.keyRead(value.project_id, value.client_email)}</span>
          ) : (
            t.projects.keyDrop
          )}
        </span>
        <input
          type="file"
          accept="application/json,.json"
          aria-labelledby={id}
          aria-describedby={wrong ? `${id}-error ${id}-read` : `${id}-read`}
          {...(wrong ? { 'aria-invalid': true } : {})}
          className="sr-only"
          onChange={(event) => {
            void read(event.target.files?.[0]);
            // Lets the same file be chosen again after it was corrected.
            event.target.value = '';
          }}
        />
      </label>
      {wrong && (
        <p id={`${id}-error`} className="text-meta text-fail">
          {wrong}
        </p>
      )}
    </div>
  );
}

/** Otherwise a file dropped beside the target would be opened by the browser. */
function useNothingOpened(): void {
  useEffect(() => {
    const keep = (event: Event) => event.preventDefault();
    for (const kind of ['dragover', 'drop']) window.addEventListener(kind, keep);
    return () => {
      for (const kind of ['dragover', 'drop']) window.removeEventListener(kind, keep);
    };
  }, []);
}

/** Key files have two or three kilobytes; far larger files are not read. */
const keyBytesMax = 100_000;

async function readKey(file: File): Promise<{ key: ServiceAccountKey | null; fault: string | undefined }> {
  const { keyTooLarge, keyNotWhole, keyWrong } = t.projects;
  const refuse = (fault: string) => ({ key: null, fault });
  if (file.size > keyBytesMax) return refuse(keyTooLarge(file.name));
  try {
    const key = JSON.parse(await file.text()) as Partial<ServiceAccountKey> | null;
    const isKey = key?.type === 'service_account' && key.project_id && key.client_email && key.private_key;
    return isKey ? { key: key as ServiceAccountKey, fault: undefined } : refuse(keyWrong(file.name));
  } catch {
    return refuse(keyNotWhole(file.name));
  }
}
