/** Read by `npm run migration`, which downloads drizzle-kit when it is needed. */
export default {
  dialect: 'postgresql',
  schema: ['./platform/database/tables.ts', './modules/*/tables.ts'],
  out: './migrations',
  entities: { roles: false },
};
