/** True of every backup that was made of the database itself, or is one of ours that was registered again. */
export const isNotForeign = `(imported is null or imported->>'source' = 'holdfast')`;
