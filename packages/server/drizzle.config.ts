import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: ['./platform/database/tables.ts', './modules/*/tables.ts'],
  out: './migrations',
  entities: { roles: false },
});
