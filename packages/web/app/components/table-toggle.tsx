import { t } from '../texts/index.ts';

interface TableToggleProps {
  asTable: boolean;
  onChange: (asTable: boolean) => void;
}

/** What is drawn can be read as well. */
export function TableToggle({ asTable, onChange }: TableToggleProps) {
  return (
    <button
      type="button"
      onClick={() => onChange(!asTable)}
      className="font-medium text-held text-meta hover:underline"
    >
      {asTable ? t.common.showAsPicture : t.common.showAsTable}
    </button>
  );
}
