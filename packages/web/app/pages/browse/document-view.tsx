import type { Backup } from '@holdfast/contract';
import { History, RotateCcw, ShoppingBasket } from 'lucide-react';
import { useAll, useRead } from '../../api/calls.ts';
import { useCan, useWorkplace } from '../../api/organization.tsx';
import { Button, LinkButton, TextLink } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { DocumentFields } from '../../components/document-fields.tsx';
import { Exact } from '../../components/exact.tsx';
import { Problem, Skeleton } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { linksInto } from '../../format/values.ts';
import { useBasket } from '../../shell/basket.ts';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { collectionsBelow } from './collections-below.ts';
import { OthersBasket } from './restore-selected.tsx';

interface DocumentViewProps {
  backup: Backup;
  path: string;
  moment: string;
  project: Parameters<typeof linksInto>[0];
}

export function DocumentView({ backup, project, path, moment }: DocumentViewProps) {
  const document = useRead(
    'getBackupDocument',
    { params: { backupId: backup.id, documentPath: path } },
    { everyMs: false },
  );
  const paths = usePaths();
  const canRestore = useCan('member');
  const { has, isOthers, toggle } = useBasket(useWorkplace().organization.id);
  const item = { path, backupId: backup.id, from: moment };
  const versions = (
    <LinkButton icon={History} to={paths.document(backup.projectId, path)}>
      {t.browse.versions}
    </LinkButton>
  );
  return (
    <section aria-label={path} className="flex flex-col">
      <header className="flex flex-col gap-3 border-line border-b px-4 py-4">
        <div className="min-w-0">
          <h2 className="flex items-center gap-1 break-all font-mono text-section font-medium">
            <span className="line-clamp-4" title={path}>
              <Exact text={path} />
            </span>{' '}
            <CopyButton text={path} />
          </h2>
          {document.data && (
            <p className="text-meta text-ink3">
              {t.browse.updated} <Time at={document.data.updateTime} /> · {t.browse.created}{' '}
              <Time at={document.data.createTime} />
            </p>
          )}
        </div>
        <div className="flex flex-wrap items-center gap-2">
          {document.data && canRestore && (
            <LinkButton kind="primary" icon={RotateCcw} to={paths.newRestore({ backupId: backup.id, document: path })}>
              {t.browse.restoreDocument}
            </LinkButton>
          )}
          {versions}
          {document.data && canRestore && isOthers(backup.projectId) && <OthersBasket />}
          {document.data && canRestore && !isOthers(backup.projectId) && (
            <Button icon={ShoppingBasket} aria-pressed={has(item)} onClick={() => toggle(backup.projectId, item)}>
              {has(item) ? t.browse.unpick : t.browse.pick}
            </Button>
          )}
        </div>
      </header>
      <Below backupId={backup.id} path={path} />
      {document.isLoading && <Skeleton />}
      {document.error && <Problem error={document.error} onRetry={() => void document.refetch()} />}
      {document.data && (
        <>
          <DocumentFields
            fields={document.data.fields}
            label={path}
            linkTo={linksInto(project, (to) => paths.browse(backup.id, to))}
          />
          <p className="flex items-center gap-1 px-4 py-3 text-meta text-ink3">
            {t.browse.copyJson}{' '}
            <CopyButton text={JSON.stringify(document.data.fields, null, 2)} label={t.browse.copyJson} />
          </p>
        </>
      )}
    </section>
  );
}

/** The collections below this document. */
function Below({ backupId, path }: { backupId: string; path: string }) {
  const tree = useAll('listBackupCollections', { params: { backupId } }, { everyMs: false });
  const paths = usePaths();
  const names = collectionsBelow(tree.rows ?? [], path);
  if (names.length === 0) return null;
  return (
    <nav
      aria-label={t.browse.below}
      className="flex flex-wrap gap-x-4 gap-y-1 border-line border-b px-4 py-2 text-table"
    >
      <span className="text-ink2">{t.browse.below}</span>
      {names.map((name) => (
        <TextLink key={name} to={paths.browse(backupId, `${path}/${name}`)} className="break-all font-mono">
          {name}
        </TextLink>
      ))}
    </nav>
  );
}
