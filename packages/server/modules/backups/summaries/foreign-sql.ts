/** True of every backup that was made of the project's database itself, also of one of ours that was registered again. */
export const isNotForeign = `(imported is null or (imported->>'source' = 'holdfast' and imported->>'ofDatabase' is null))`;
