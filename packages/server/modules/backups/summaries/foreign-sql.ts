/** True for backups of the project's own database, also for one of ours that was imported again. */
export const isNotForeign = `(imported is null or (imported->>'source' = 'holdfast' and imported->>'ofDatabase' is null))`;
