import { Download, RotateCcw, ShoppingBasket } from 'lucide-react';
import { useCan, useWorkplace, useZone } from '../../api/organization.tsx';
import { Button, LinkButton, TextLink } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Exact } from '../../components/exact.tsx';
import { Time, useNow } from '../../components/time.tsx';
import { saveFile } from '../../format/save-file.ts';
import { formatAge, formatDateTime } from '../../format/times.ts';
import type { Fields } from '../../format/values.ts';
import type { RestoreStart } from '../../paths.ts';
import { type BasketItem, useBasket } from '../../shell/basket.ts';
import { PageHeading } from '../../shell/page-heading.tsx';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { OthersBasket } from '../browse/restore-selected.tsx';
import type { Version } from './use-versions.ts';

interface HeadProps {
  projectId: string;
  path: string;
  versions: readonly Version[];
  then: Version | undefined;
  thenFields: Fields | null | undefined;
  /** The moment given in the address. */
  at: string | undefined;
  /** False if the live document does not exist; undefined while unknown. */
  isThere: boolean | undefined;
  /** All known versions are loaded. */
  isWholeStory: boolean;
  start: RestoreStart | undefined;
  restoreTo: string | undefined;
  /** The project refuses the connection, so nothing can be written. */
  isRefused: boolean;
  /** It equals the live document: a restore would change nothing. */
  isSame: boolean;
}

export function DocumentHead(props: HeadProps) {
  const { projectId, path, then, thenFields, start, restoreTo, isRefused, isSame, ...known } = props;
  const zone = useZone();
  const canRestore = useCan('member');
  const { has, isOthers, toggle } = useBasket(useWorkplace().organization.id);
  const itemOf = ({ backupId, at }: RestoreStart): BasketItem => ({
    path,
    from: then ? formatDateTime(then.at, zone) : '',
    ...(backupId ? { backupId } : {}),
    ...(at ? { pointInTime: at } : {}),
  });
  return (
    <header className="flex flex-wrap items-center gap-3 border-line border-b px-5 py-4">
      <div className="min-w-0 flex-1 max-md:order-first max-md:basis-full">
        <PageHeading className="flex items-center gap-1 break-all font-mono text-section font-medium">
          <span className="line-clamp-4" title={path}>
            <Exact text={path} />
          </span>{' '}
          <CopyButton text={path} />
        </PageHeading>
        <Story path={path} then={then} {...known} />
      </div>
      {thenFields && (
        <Button
          icon={Download}
          onClick={() =>
            saveFile(`${path.replaceAll('/', '_')}.json`, JSON.stringify(thenFields, null, 2), 'application/json')
          }
        >
          {t.document.json}
        </Button>
      )}
      {start && canRestore && isOthers(projectId) && <OthersBasket />}
      {start && canRestore && !isOthers(projectId) && (
        <Button
          icon={ShoppingBasket}
          aria-pressed={has(itemOf(start))}
          onClick={() => toggle(projectId, itemOf(start))}
        >
          {has(itemOf(start)) ? t.browse.unpick : t.browse.pick}
        </Button>
      )}
      {restoreTo && canRestore && (
        <LinkButton
          kind={isRefused || isSame ? 'secondary' : 'primary'}
          icon={RotateCcw}
          to={restoreTo}
          className="max-md:-order-1 max-md:basis-full"
        >
          {isRefused ? t.document.restoreElsewhere : t.document.restoreThis}
        </LinkButton>
      )}
    </header>
  );
}

/** Since when the document is unchanged, or deleted. */
function Story({
  path,
  versions,
  then,
  at,
  isThere,
  isWholeStory,
}: Pick<HeadProps, 'path' | 'versions' | 'then' | 'at' | 'isThere' | 'isWholeStory'>) {
  const zone = useZone();
  const now = useNow();
  const paths = usePaths();
  const [newest] = versions;
  const changed = versions.find(({ change }) => change !== 'deleted');
  const collection = path.split('/').slice(0, -1).join('/');
  // Which backups hold the live version; unknown while older backups are not loaded.
  const held = isThere && newest?.source === 'live' ? newest.heldBy !== null : undefined;
  const isHeld = held || isWholeStory ? held : undefined;
  return (
    <p className="text-table text-ink2">
      {at !== undefined && <b className="font-medium text-ink">{t.document.asOf(formatDateTime(at, zone))} </b>}
      {newest?.change === 'deleted' && (
        <>{t.document.deletedBy(formatAge(newest.at, zone, now), formatDateTime(newest.at, zone))} </>
      )}
      {newest?.change !== 'deleted' && isThere === false && <>{t.document.gonePlain} </>}
      {changed && (
        <>
          {isThere === undefined ? t.document.lastKnown : t.browse.updated} <Time at={changed.at} as="age" />,{' '}
          {formatDateTime(changed.at, zone)}
          {zone !== 'UTC' && ` ${t.document.utc(formatDateTime(changed.at, 'UTC'))}`}.{' '}
        </>
      )}
      {isHeld !== undefined && <>{isHeld ? t.document.inBackup : t.document.inNoBackup} </>}
      {then?.backupId && isThere !== undefined && (
        <TextLink to={`${paths.compare(then.backupId)}&collection=${encodeURIComponent(collection)}`}>
          {t.document.compareAll(collection.split('/').at(-1) ?? '')}
        </TextLink>
      )}
    </p>
  );
}
