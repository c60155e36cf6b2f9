import { FileKey } from 'lucide-react';
import { type DragEvent, useId, useState } from 'react';
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

/** A key file by drop or by choice. It is read here and sent once; the browser keeps nothing. */
export function KeyDrop({ value, onChange, error }: KeyDropProps) {
  const [fault, setFault] = useState<string>();
  const [isOver, setOver] = useState(false);
  const id = useId();
  const wrong = fault ?? error;
  const around = useFocusOnError<HTMLDivElement>(wrong);
  const read = async (file: File | undefined) => {
    if (!file) return;
    const key = parseKey(await file.text().catch(() => ''));
    setFault(key ? undefined : t.projects.keyWrong);
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
        <span className="min-w-0 text-table">
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
          {...(wrong ? { 'aria-invalid': true, 'aria-describedby': `${id}-error` } : {})}
          className="sr-only"
          onChange={(event) => {
            void read(event.target.files?.[0]);
            // The same file, mended meanwhile, may be chosen again.
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

function parseKey(text: string): ServiceAccountKey | null {
  try {
    const key = JSON.parse(text) as Partial<ServiceAccountKey>;
    return key.type === 'service_account' && key.project_id && key.client_email && key.private_key
      ? (key as ServiceAccountKey)
      : null;
  } catch {
    return null;
  }
}
