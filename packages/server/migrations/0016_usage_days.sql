CREATE TABLE "usage_days" (
	"organization_id" text NOT NULL,
	"day" date NOT NULL,
	"stored_bytes" bigint NOT NULL,
	"reads_used" bigint NOT NULL,
	CONSTRAINT "usage_days_organization_id_day_pk" PRIMARY KEY("organization_id","day")
);
--> statement-breakpoint
ALTER TABLE "usage_days" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "usage_days" ADD CONSTRAINT "usage_days_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE POLICY "tenant" ON "usage_days" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("usage_days"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("usage_days"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "usage_days" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);